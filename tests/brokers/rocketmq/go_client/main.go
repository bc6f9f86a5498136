// RocketMQ's client in Go, another implementation of the protocol: headers in JSON alone, requests with an older version.
//
// Arguments: the name server's address, the broker's. Prints a journal: lines of a word and JSON.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const (
	patience = 30 * time.Second
	queues   = 2
)

// The last one is that of retries: a consumer makes it, but looks for it only half a minute later.
var topics = []string{"go-plain", "go-letters", "go-orders", "go-bills", "%RETRY%go-choosy"}

// message is what the two halves of a journal have in common.
type message struct {
	Topic  string  `json:"topic"`
	Queue  int     `json:"queue"`
	Offset int64   `json:"offset"`
	ID     string  `json:"id"`
	Keys   *string `json:"keys"`
	Tag    *string `json:"tag"`
	Body   string  `json:"body"`
}

type sentMessage struct {
	message
	Place *string `json:"place"`
}

type gotMessage struct {
	message
	Group      string `json:"group"`
	Reconsumed int32  `json:"reconsumed"`
}

var printing sync.Mutex

func printed(word string, content any) {
	text, err := json.Marshal(content)
	must(err)
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(word, string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tried does it until it is done, or until patience ends.
func tried(what string, done func() error) {
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := done()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			must(fmt.Errorf("%s: %w", what, err))
		}
	}
}

func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func content(from *primitive.Message, id string, queue int, offset int64) message {
	return message{from.Topic, queue, offset, id, filled(strings.TrimSpace(from.GetKeys())), filled(from.GetTags()),
		hex.EncodeToString(from.Body)}
}

func made(topic, tag, key, body string) *primitive.Message {
	found := primitive.NewMessage(topic, []byte(body))
	if tag != "" {
		found.WithTag(tag)
	}
	if key != "" {
		found.WithKeys([]string{key})
	}
	return found
}

// copied is a message as it was before a library compressed its body.
func copied(from *primitive.Message) *primitive.Message {
	return made(from.Topic, from.GetTags(), strings.TrimSpace(from.GetKeys()), string(from.Body))
}

func sent(before *primitive.Message, result *primitive.SendResult) {
	queue, place := result.MessageQueue.QueueId, result.OffsetMsgID
	printed("SENT", sentMessage{content(before, result.MsgID, queue, result.QueueOffset), &place})
}

func started(names, group string) rocketmq.Producer {
	found, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{names})),
		producer.WithGroupName(group),
		producer.WithInstanceName(group),
		producer.WithQueueSelector(producer.NewHashQueueSelector()),
		producer.WithCompressMsgBodyOverHowmuch(500),
		producer.WithSendMsgTimeout(patience),
	)
	must(err)
	must(found.Start())
	return found
}

func prepare(names, broker string) {
	asking, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{names})))
	must(err)
	context := context.Background()
	for _, topic := range topics {
		// The library waits five seconds for an answer, whatever a broker has to do that just started.
		tried("to make "+topic, func() error {
			return asking.CreateTopic(context, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(broker),
				admin.WithReadQueueNums(queues), admin.WithWriteQueueNums(queues))
		})
	}
	for _, topic := range topics {
		// The broker tells the name server a moment later.
		tried("to find "+topic, func() error {
			found, err := asking.FetchPublishMessageQueues(context, topic)
			if err == nil && len(found) == 0 {
				return fmt.Errorf("it has no queues")
			}
			return err
		})
	}
	must(asking.Close())
}

// plain sends in all ways: waited for, told later, not told, several at once, compressed, to an order's queue.
func plain(names string) {
	sending := started(names, "go-sending")
	for number := 0; number < 4; number++ {
		each := made("go-plain", []string{"even", "odd"}[number%2], fmt.Sprintf("key-%d", number), fmt.Sprintf("value %d", number))
		each.WithProperty("number", fmt.Sprint(number))
		result, err := sending.SendSync(context.Background(), each)
		must(err)
		sent(each, result)
	}
	long := made("go-plain", "even", "", strings.Repeat("compressed by zlib, ", 100))
	before := copied(long)
	result, err := sending.SendSync(context.Background(), long)
	must(err)
	sent(before, result)
	var taken sync.WaitGroup
	for number := 0; number < 3; number++ {
		each := made("go-plain", "odd", "", fmt.Sprintf("told later %d", number))
		taken.Add(1)
		must(sending.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			must(err)
			sent(each, result)
			taken.Done()
		}, each))
	}
	taken.Wait()
	several := []*primitive.Message{made("go-plain", "even", "one", "first of two"), made("go-plain", "even", "two", "second of two")}
	result, err = sending.SendSync(context.Background(), several...)
	must(err)
	for index, id := range strings.Split(result.MsgID, ",") {
		told := content(several[index], id, result.MessageQueue.QueueId, result.QueueOffset+int64(index))
		printed("SENT", sentMessage{told, nil})
	}
	alone := made("go-plain", "even", "", "nobody answers")
	must(sending.SendOneWay(context.Background(), alone))
	printed("SENT", sentMessage{content(alone, alone.GetProperty("UNIQ_KEY"), -1, -1), nil})
	for number := 0; number < 4; number++ {
		each := made("go-orders", "", "", fmt.Sprintf("step %d", number)).WithShardingKey("one order")
		result, err := sending.SendSync(context.Background(), each)
		must(err)
		sent(each, result)
	}
	bad := made("go-letters", "", "", "unusable at first")
	bad.WithDelayTimeLevel(1)
	result, err = sending.SendSync(context.Background(), bad)
	must(err)
	sent(bad, result)
	must(sending.Shutdown())
}

func subscribed(names, group, topic, tags string, count int, takes func(*primitive.MessageExt) bool, order bool) func() {
	found, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{names})),
		consumer.WithGroupName(group),
		consumer.WithInstance(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(order),
		consumer.WithConsumeMessageBatchMaxSize(1),
		consumer.WithPullBatchSize(4),
	)
	must(err)
	var done sync.WaitGroup
	var seen atomic.Int32
	done.Add(count)
	selector := consumer.MessageSelector{}
	if tags != "" {
		selector = consumer.MessageSelector{Type: consumer.TAG, Expression: tags}
	}
	must(found.Subscribe(topic, selector, func(context context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, each := range messages {
			told := content(&each.Message, each.MsgId, each.Queue.QueueId, each.QueueOffset)
			printed("GOT", gotMessage{told, group, each.ReconsumeTimes})
			if int(seen.Add(1)) <= count {
				done.Done()
			}
			if !takes(each) {
				if concurrently, ok := primitive.GetConcurrentlyCtx(context); ok {
					concurrently.DelayLevelWhenNextConsume = 1
				}
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}))
	must(found.Start())
	return func() {
		came := make(chan struct{})
		go func() { done.Wait(); close(came) }()
		select {
		case <-came:
		case <-time.After(patience):
			must(fmt.Errorf("%s: %d came of %d", group, seen.Load(), count))
		}
		must(found.Shutdown())
	}
}

// undecided decides when it is asked, so brokers ask.
type undecided struct{ asked chan struct{} }

func (*undecided) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	if message.GetTags() == "rollback" {
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

func (each *undecided) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	each.asked <- struct{}{}
	return primitive.CommitMessageState
}

func transactions(names string) {
	listener := &undecided{make(chan struct{}, 16)}
	billing, err := rocketmq.NewTransactionProducer(listener,
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{names})),
		producer.WithGroupName("go-billing"),
		producer.WithInstanceName("go-billing"),
		producer.WithSendMsgTimeout(patience),
	)
	must(err)
	must(billing.Start())
	for _, tag := range []string{"rollback", "commit"} {
		each := made("go-bills", tag, "", "a bill to "+tag)
		result, err := billing.SendMessageInTransaction(context.Background(), each)
		must(err)
		sent(each, result.SendResult)
	}
	select {
	case <-listener.asked:
	case <-time.After(patience):
		must(fmt.Errorf("nobody asked for a transaction's end"))
	}
	subscribed(names, "go-paying", "go-bills", "", 1, func(*primitive.MessageExt) bool { return true }, false)()
	must(billing.Shutdown())
}

func main() {
	rlog.SetLogLevel("error")
	names, broker := os.Args[1], os.Args[2]
	prepare(names, broker)
	plain(names)
	all := func(*primitive.MessageExt) bool { return true }
	waits := []func(){
		subscribed(names, "go-tagged", "go-plain", "even || odd", 11, all, false),
		subscribed(names, "go-ordered", "go-orders", "", 4, all, true),
		subscribed(names, "go-choosy", "go-letters", "", 2, func(each *primitive.MessageExt) bool { return each.ReconsumeTimes > 0 }, false),
	}
	for _, each := range waits {
		each()
	}
	transactions(names)
}
