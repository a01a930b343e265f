// Does with the unmodified Go client what a team does with it every day, against the server that
// the environment names, and says of each step whether it went well: one JSON object a line.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

type step struct {
	name string
	run  func(*client) error
}

// client is what the steps share.
type client struct {
	*api.Client
	node    *api.Node
	alloc   *api.Allocation
	jobFile string
}

var steps = []step{
	{"agent: self, members, health, region, datacenter and version", agentSelf},
	{"nodes: list, info and stats of a fresh node", nodes},
	{"node: metadata is applied and read", nodeMeta},
	{"jobs: parse a job file, validate, plan and register it", register},
	{"evaluations: info from the index of the registration answers at once", evaluation},
	{"allocations: one runs, and its network status can be read", allocation},
	{"tasks: the environment has the names that the job file uses", environment},
	{"exec: a command in the task, with its exit code", exec},
	{"logs and files: as the task wrote them", files},
	{"deployments: wait for the end by blocking queries", deployment},
	{"jobs: scale, versions, revert, and register what was read", versions},
	{"jobs: register a canonicalized job", canonicalized},
	{"variables: write, check and set, list, lock and delete", variables},
	{"namespaces: create, use, page through a list and delete", namespaces},
	{"events: the stream tells of a registration", events},
	{"services: list and read", services},
	{"metrics: the summary and what dashboards read", metrics},
	{"operator: scheduler configuration, a snapshot, and its restore", operator},
	{"search: by prefix and fuzzy", search},
	{"jobs: stop and purge", stop},
}

func main() {
	config := api.DefaultConfig()
	c, err := api.NewClient(config)
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	shared := &client{Client: c, jobFile: string(text)}
	lines := json.NewEncoder(os.Stdout)
	for _, one := range steps {
		start := time.Now()
		err := safely(one, shared)
		line := map[string]any{"step": one.name, "ms": time.Since(start).Milliseconds()}
		if err != nil {
			line["error"] = err.Error()
		}
		lines.Encode(line)
	}
}

// safely turns a panic, which a missing field of an answer causes, into an error.
func safely(one step, c *client) (err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	return one.run(c)
}

func check(is bool, format string, args ...any) error {
	if is {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// until asks again until something is there.
func until(what string, look func() (bool, error)) error {
	end := time.Now().Add(30 * time.Second)
	for {
		done, err := look()
		if err != nil || done {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func agentSelf(c *client) error {
	self, err := c.Agent().Self()
	if err != nil {
		return err
	}
	version, ok := self.Config["Version"].(map[string]any)
	if !ok {
		return fmt.Errorf("config has no Version: %v", self.Config["Version"])
	}
	region, err := c.Agent().Region()
	if err != nil {
		return err
	}
	datacenter, err := c.Agent().Datacenter()
	if err != nil {
		return err
	}
	members, err := c.Agent().Members()
	if err != nil {
		return err
	}
	health, err := c.Agent().Health()
	if err != nil {
		return err
	}
	leader, err := c.Status().Leader()
	if err != nil {
		return err
	}
	servers, err := c.Agent().Servers()
	if err != nil {
		return err
	}
	return first(
		check(version["Version"] != "", "no version"),
		check(region == "global" && datacenter == "dc1", "region %q, datacenter %q", region, datacenter),
		check(len(members.Members) == 1, "%d members", len(members.Members)),
		check(health.Server.Ok && health.Client.Ok, "not healthy"),
		check(leader != "", "no leader"),
		check(len(servers) > 0, "no servers"),
	)
}

func nodes(c *client) error {
	list, meta, err := c.Nodes().List(nil)
	if err != nil {
		return err
	}
	if len(list) != 1 || meta.LastIndex == 0 || !meta.KnownLeader {
		return fmt.Errorf("%d nodes, index %d, known leader %v", len(list), meta.LastIndex, meta.KnownLeader)
	}
	c.node, _, err = c.Nodes().Info(list[0].ID, nil)
	if err != nil {
		return err
	}
	stats, err := c.Nodes().Stats(c.node.ID, nil)
	if err != nil {
		return err
	}
	allocs, _, err := c.Nodes().Allocations(c.node.ID, nil)
	return first(
		err,
		check(c.node.Attributes["nomad.version"] != "", "no version among the attributes"),
		check(stats.Memory.Total > 0, "no memory in the stats"),
		check(len(allocs) == 0, "a fresh node has allocations"),
		check(list[0].Address != "", "the node has no address"),
	)
}

func nodeMeta(c *client) error {
	blue := "blue"
	request := &api.NodeMetaApplyRequest{NodeID: c.node.ID, Meta: map[string]*string{"color": &blue}}
	applied, err := c.Nodes().Meta().Apply(request, nil)
	if err != nil {
		return err
	}
	read, err := c.Nodes().Meta().Read(c.node.ID, nil)
	if err != nil {
		return err
	}
	return first(
		check(applied.Meta["color"] == "blue", "applied %v", applied.Meta),
		check(read.Meta["color"] == "blue", "read %v", read.Meta),
		check(read.Dynamic["color"] != nil, "not dynamic: %v", read.Dynamic),
	)
}

func register(c *client) error {
	job, err := c.Jobs().ParseHCL(c.jobFile, false)
	if err != nil {
		return err
	}
	if _, _, err := c.Jobs().Validate(job, nil); err != nil {
		return err
	}
	planned, _, err := c.Jobs().Plan(job, true, nil)
	if err != nil {
		return err
	}
	written, meta, err := c.Jobs().Register(job, nil)
	if err != nil {
		return err
	}
	read, _, err := c.Jobs().Info(*job.ID, nil)
	return first(
		err,
		check(planned.Diff.Type == "Added", "diff %q", planned.Diff.Type),
		check(written.EvalID != "" && meta.LastIndex > 0, "no evaluation, or no index"),
		check(*read.Name == "web", "name %q", *read.Name),
	)
}

func evaluation(c *client) error {
	job, err := c.Jobs().ParseHCL(c.jobFile, false)
	if err != nil {
		return err
	}
	written, _, err := c.Jobs().Register(job, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	var eval *api.Evaluation
	index := written.EvalCreateIndex
	err = until("the end of the evaluation", func() (bool, error) {
		found, meta, err := c.Evaluations().Info(written.EvalID, &api.QueryOptions{WaitIndex: index})
		if err != nil {
			return false, err
		}
		eval, index = found, meta.LastIndex
		return eval.Status == "complete", nil
	})
	return first(err, check(time.Since(start) < 5*time.Second, "took %v", time.Since(start)))
}

func allocation(c *client) error {
	return until("a running allocation", func() (bool, error) {
		list, _, err := c.Jobs().Allocations("web", false, nil)
		if err != nil {
			return false, err
		}
		for _, stub := range list {
			if stub.ClientStatus != "running" {
				continue
			}
			c.alloc, _, err = c.Allocations().Info(stub.ID, nil)
			if err != nil {
				return false, err
			}
			_ = c.alloc.NetworkStatus.Address // As clients read it.
			return true, nil
		}
		return false, nil
	})
}

func execOutput(c *client, command ...string) (string, int, error) {
	context, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out bytes.Buffer
	code, err := c.Allocations().Exec(context, c.alloc, "server", false, command,
		strings.NewReader(""), &out, io.Discard, make(chan api.TerminalSize), nil)
	return out.String(), code, err
}

func environment(c *client) error {
	out, _, err := execOutput(c, "/bin/sh", "-c",
		`echo "$FROM_FILE|$NOMAD_ALLOC_ID|$REEVE_ALLOC_ID|$NOMAD_PORT_http|$NOMAD_META_owner"; cat local/rendered`)
	if err != nil {
		return err
	}
	parts := strings.Split(strings.TrimSpace(strings.Split(out, "\n")[0]), "|")
	if len(parts) != 5 {
		return fmt.Errorf("output %q", out)
	}
	return first(
		check(parts[0] == "web[0] on port "+parts[3], "from the job file: %q", out),
		check(parts[1] == c.alloc.ID && parts[2] == c.alloc.ID, "ids: %q", out),
		check(parts[3] != "" && parts[4] == "team", "port and meta: %q", out),
		check(strings.Contains(out, "template of server, no services"), "template: %q", out),
	)
}

func exec(c *client) error {
	out, code, err := execOutput(c, "/bin/sh", "-c", "echo hello; exit 7")
	return first(err, check(out == "hello\n" && code == 7, "%q, exit code %d", out, code))
}

func files(c *client) error {
	entries, _, err := c.AllocFS().List(c.alloc, "alloc/logs", nil)
	if err != nil {
		return err
	}
	cancel := make(chan struct{})
	defer close(cancel)
	frames, errs := c.AllocFS().Logs(c.alloc, false, "server", "stdout", "start", 0, cancel, nil)
	var text strings.Builder
	for frame := range frames {
		text.Write(frame.Data)
	}
	select {
	case err := <-errs:
		if err != nil {
			return err
		}
	default:
	}
	reader, err := c.AllocFS().Cat(c.alloc, "server/local/rendered", nil)
	if err != nil {
		return err
	}
	defer reader.Close()
	rendered, err := io.ReadAll(reader)
	usage, statsErr := c.Allocations().Stats(c.alloc, nil)
	return first(
		err, statsErr,
		check(len(entries) > 0, "no logs"),
		check(strings.Contains(text.String(), "started"), "log %q", text.String()),
		check(strings.Contains(string(rendered), "template"), "file %q", rendered),
		check(usage.ResourceUsage != nil, "no usage"),
	)
}

func deployment(c *client) error {
	var index uint64
	return until("a successful deployment", func() (bool, error) {
		options := &api.QueryOptions{WaitIndex: index, WaitTime: 5 * time.Second}
		found, meta, err := c.Jobs().LatestDeployment("web", options)
		if err != nil {
			return false, err
		}
		if meta.LastIndex == 0 {
			return false, fmt.Errorf("no index to wait from")
		}
		index = meta.LastIndex
		return found != nil && found.Status == "successful", nil
	})
}

func versions(c *client) error {
	count := 2
	if _, _, err := c.Jobs().Scale("web", "group", &count, "more", false, nil, nil); err != nil {
		return err
	}
	status, _, err := c.Jobs().ScaleStatus("web", nil)
	if err != nil {
		return err
	}
	if status.TaskGroups["group"].Desired != 2 {
		return fmt.Errorf("desired %d", status.TaskGroups["group"].Desired)
	}
	if err := until("two running allocations", func() (bool, error) {
		summary, _, err := c.Jobs().Summary("web", nil)
		return err == nil && summary.Summary["group"].Running == 2, err
	}); err != nil {
		return err
	}
	job, _, err := c.Jobs().Info("web", nil)
	if err != nil {
		return err
	}
	priority := 60
	job.Priority = &priority
	if _, _, err := c.Jobs().Register(job, nil); err != nil {
		return err
	}
	all, diffs, _, err := c.Jobs().Versions("web", true, nil)
	if err != nil {
		return err
	}
	if len(all) < 2 || len(diffs) == 0 {
		return fmt.Errorf("%d versions, %d diffs", len(all), len(diffs))
	}
	_, _, err = c.Jobs().Revert("web", *all[1].Version, nil, nil, "", "")
	return err
}

func canonicalized(c *client) error {
	job, err := c.Jobs().ParseHCL(c.jobFile, true)
	if err != nil {
		return err
	}
	id, kind, disk := "batch", "batch", 64
	job.ID, job.Name, job.Type = &id, &id, &kind
	group := job.TaskGroups[0]
	group.Services, group.Networks, group.Update, job.Update, group.Migrate = nil, nil, nil, nil, nil
	task := group.Tasks[0]
	task.Templates, task.Env = nil, nil
	task.Config = map[string]any{"command": "/bin/true"}
	task.Resources.DiskMB = &disk
	job.Canonicalize()
	_, _, err = c.Jobs().Register(job, nil)
	return err
}

func variables(c *client) error {
	path := "nomad/jobs/web"
	created, _, err := c.Variables().Create(&api.Variable{Path: path, Items: api.VariableItems{"a": "1"}}, nil)
	if err != nil {
		return err
	}
	created.Items["a"] = "2"
	updated, _, err := c.Variables().CheckedUpdate(created, nil)
	if err != nil {
		return err
	}
	created.Items["a"] = "3"
	_, _, conflict := c.Variables().CheckedUpdate(created, nil)
	list, _, err := c.Variables().PrefixList("nomad/jobs", nil)
	if err != nil {
		return err
	}
	read, _, err := c.Variables().Read(path, nil)
	if err != nil {
		return err
	}
	lock := &api.Variable{Path: "locked", Lock: &api.VariableLock{TTL: "15s", LockDelay: "1s"}}
	held, _, err := c.Variables().AcquireLock(lock, nil)
	if err != nil {
		return err
	}
	if _, _, err := c.Variables().RenewLock(held, nil); err != nil {
		return err
	}
	if _, _, err := c.Variables().ReleaseLock(held, nil); err != nil {
		return err
	}
	_, err = c.Variables().Delete(path, nil)
	return first(
		err,
		check(updated.Items["a"] == "2" && read.Items["a"] == "2", "read %v", read.Items),
		check(read.Path == path && created.Path == path, "path %q", read.Path),
		check(conflict != nil, "a change from an old index went through"),
		check(len(list) == 1, "%d variables", len(list)),
	)
}

func namespaces(c *client) error {
	for _, name := range []string{"team-a", "team-b"} {
		if _, err := c.Namespaces().Register(&api.Namespace{Name: name}, nil); err != nil {
			return err
		}
	}
	list, _, err := c.Namespaces().List(nil)
	if err != nil {
		return err
	}
	page, meta, err := c.Jobs().ListOptions(nil, &api.QueryOptions{PerPage: 1})
	if err != nil {
		return err
	}
	if len(page) != 1 || meta.NextToken == "" {
		return fmt.Errorf("%d jobs, next token %q", len(page), meta.NextToken)
	}
	pools, _, err := c.NodePools().List(nil)
	if err != nil {
		return err
	}
	_, err = c.Namespaces().Delete("team-b", nil)
	return first(
		err,
		check(len(list) == 3, "%d namespaces", len(list)),
		check(len(pools) >= 2, "%d node pools", len(pools)),
	)
}

func events(c *client) error {
	context, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	topics := map[api.Topic][]string{api.TopicJob: {"*"}}
	stream, err := c.EventStream().Stream(context, topics, 0, nil)
	if err != nil {
		return err
	}
	job, err := c.Jobs().ParseHCL(c.jobFile, false)
	if err != nil {
		return err
	}
	priority := 61
	job.Priority = &priority
	if _, _, err := c.Jobs().Register(job, nil); err != nil {
		return err
	}
	for {
		select {
		case <-context.Done():
			return fmt.Errorf("waited in vain for an event")
		case set := <-stream:
			if set.Err != nil {
				return set.Err
			}
			for _, event := range set.Events {
				if told, err := event.Job(); err == nil && told != nil && *told.ID == "web" {
					return nil
				}
			}
		}
	}
}

func services(c *client) error {
	return until("the service", func() (bool, error) {
		lists, _, err := c.Services().List(nil)
		if err != nil || len(lists) == 0 {
			return false, err
		}
		found, _, err := c.Services().Get("web", nil)
		return len(found) > 0 && found[0].Address != "", err
	})
}

func metrics(c *client) error {
	summary, _, err := c.Operator().MetricsSummary(nil)
	if err != nil {
		return err
	}
	text, err := c.Operator().Metrics(&api.QueryOptions{Params: map[string]string{"format": "prometheus"}})
	if err != nil {
		return err
	}
	for _, name := range []string{
		"nomad_nomad_job_summary_running",
		"nomad_client_allocated_memory",
		"nomad_client_unallocated_memory",
		"nomad_client_allocations_running",
		"nomad_client_allocs_memory_usage",
		"nomad_client_host_memory_available",
	} {
		if !strings.Contains(string(text), name) {
			return fmt.Errorf("no metric %s", name)
		}
	}
	return check(len(summary.Gauges) > 0, "no gauges")
}

func operator(c *client) error {
	config, _, err := c.Operator().SchedulerGetConfiguration(nil)
	if err != nil {
		return err
	}
	if _, _, err := c.Operator().SchedulerSetConfiguration(config.SchedulerConfig, nil); err != nil {
		return err
	}
	snapshot, err := c.Operator().Snapshot(nil)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	saved, err := io.ReadAll(snapshot)
	if err != nil {
		return err
	}
	if err := check(len(saved) > 0, "an empty snapshot"); err != nil {
		return err
	}
	// The state is the one that is there, so the steps that follow find what they need.
	_, err = c.Operator().SnapshotRestore(bytes.NewReader(saved), nil)
	return err
}

func search(c *client) error {
	found, _, err := c.Search().PrefixSearch("we", "jobs", nil)
	if err != nil {
		return err
	}
	fuzzy, _, err := c.Search().FuzzySearch("eb", "jobs", nil)
	return first(
		err,
		check(len(found.Matches["jobs"]) == 1, "prefix %v", found.Matches),
		check(len(fuzzy.Matches["jobs"]) == 1, "fuzzy %v", fuzzy.Matches),
	)
}

func stop(c *client) error {
	if _, _, err := c.Jobs().Deregister("web", true, nil); err != nil {
		return err
	}
	_, _, err := c.Jobs().Info("web", nil)
	return check(err != nil && strings.Contains(err.Error(), "404"), "the job is still there: %v", err)
}
