"""What only several of ZooKeeper's messages show to be wrong, a module for each port."""
