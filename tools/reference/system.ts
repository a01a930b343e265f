import {
  EVENT_TOPICS,
  EVENT_TYPES,
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  TASK_EVENT_TYPES,
  v1Routes,
  v2,
  VARIABLE_CAPABILITIES,
  type Route,
  type TaskEventType,
} from '@reeve/contract'
import { describeApi } from '../../packages/reeve/src/main/api-document.ts'
import { STATE_METRICS } from '../../packages/reeve/src/http/metrics/state-metrics.ts'
import { loadConfig } from '../../packages/reeve/src/main/config/load-config.ts'
import { serverMetrics } from '../../packages/reeve/src/main/server-metrics.ts'
import { tracingMetrics } from '../../packages/reeve/src/main/tracing/tracing.ts'
import { anchor, code, page, sentence, table, type Pages } from './page.ts'

/** Metrics, events and capabilities: one page each. */
export async function systemPages(): Promise<Pages> {
  return new Map([
    ['docs/reference/metrics.md', metricsPage(await metricsText())],
    ['docs/reference/events.md', eventsPage()],
    ['docs/reference/capabilities.md', capabilitiesPage()],
  ])
}

/** The metrics of a server in memory, in Prometheus' text format. */
async function metricsText(): Promise<string> {
  const facts = {
    hostName: 'localhost',
    address: undefined,
    workingDirectory: '/',
    temporaryDirectory: '/nonexistent',
    isErrorTerminal: false,
  }
  const loaded = loadConfig({
    flags: new Map([['dev', true]]),
    environment: {},
    configFiles: { files: [], problems: [] },
    host: facts,
  })
  if (!loaded.ok) throw new Error(`no configuration: ${JSON.stringify(loaded.error)}`)
  const { metrics } = await describeApi(loaded.value.config, '0.0.0')
  return metrics
}

function metricsPage(text: string): string {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  const found = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => ({
    name,
    help,
  }))
  const own = found.filter(({ name }) => !isRuntimeMetric(name))
  const optional = Object.entries(OPTIONAL_METRICS)
    .map(([name, { help, isCounter }]) => ({ name: `service_${name}`, help, isCounter }))
    .filter(({ name }) => !types.has(name))
  for (const { name, isCounter } of optional) types.set(name, isCounter ? 'counter' : 'gauge')
  const rows = (list: typeof found) =>
    list
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, help }) => [code(name), types.get(name) ?? '', sentence(help)])
  const head = ['Metric', 'Type', 'Description']
  return page('Metrics', [
    '`GET /v1/metrics?format=prometheus` returns every metric in the text format of Prometheus, ' +
      'without `format` as JSON. It needs no token.',
    'Servers of a cluster each report their own metrics; those about the state are the same on all.',
    '## Server',
    table(head, rows(own)),
    '## Optional parts',
    'Of servers that have the part: backups, replication from an authoritative region, TLS, traces.',
    table(head, rows(optional)),
    '## Jobs and nodes',
    'Gauges with names as labels: `namespace`, `job` and `task_group` of jobs that the caller may ' +
      'read; `node_id`, `node_name`, `datacenter`, `node_class`, `node_pool`, `node_status` and ' +
      '`node_scheduling_eligibility` of nodes with `node` read. They are the same on all servers: ' +
      'aggregate them with `max`, not with `sum`, over the servers.',
    namedMetrics((name) => !isUsageMetric(name)),
    '## Usage of tasks and nodes',
    'Gauges that the nodes report when metrics are read, at most every five seconds; a node that ' +
      'does not answer within three seconds is left out of one response. A server has those of the ' +
      'nodes that are connected to it. CPU usage is that since the last response. Tasks have the ' +
      'labels `namespace`, `job`, `task_group`, `task`, `alloc_id` and `host`; a response has at ' +
      'most 2,000 tasks, and 500 of one node. Nodes have the labels of the table above.',
    namedMetrics(isUsageMetric),
    '## Process',
    'Of the process and the JavaScript engine:',
    table(head, rows(found.filter(({ name }) => isRuntimeMetric(name)))),
  ])
}

function namedMetrics(isWanted: (name: string) => boolean): string {
  const wanted = Object.entries(STATE_METRICS).filter(([name]) => isWanted(name))
  return table(
    ['Metric', 'Description'],
    wanted.map(([name, help]) => [code(`service_${name}`), help]),
  )
}

function isUsageMetric(name: string): boolean {
  return /^(?:task|node_host)_/.test(name)
}

/** Metrics of parts that the server of `formatPlacementFailure` lacks. */
const OPTIONAL_METRICS = {
  ...serverMetrics({
    replication: { lagMs: 0 },
    memory: { usedRatio: 0 },
    backups: { ageMs: 0 },
    commits: { commitWaitMs: 0 },
    certificate: { expiresAtMs: 0 },
    disk: { ratio: 0, bytes: 0 },
  }),
  ...tracingMetrics({ exported: 0, dropped: 0 }),
}

function isRuntimeMetric(name: string): boolean {
  return /^service_(?:nodejs|process)_/.test(name)
}

function eventsPage(): string {
  const rows = EVENT_TOPICS.map((topic) => {
    const types = EVENT_TYPES.filter((type) => topicOf(type) === topic)
    return [code(topic), types.map(code).join(', ')]
  })
  const [stray] = EVENT_TYPES.filter((type) => topicOf(type) === undefined)
  if (stray !== undefined) throw new Error(`event type ${stray}: no topic`)
  return page('Events', [
    '`GET /v1/event/stream` sends every change as a line of JSON, from `index` on: see ' +
      '[streamEvents](api/event-stream.md#streamevents). `reeve event stream` prints it. `topic` ' +
      'selects topics (`Job`) or keys (`Job:web`).',
    'Each line has the events of one commit. `{}` is a heartbeat, `Gap` names commits that are no ' +
      'longer kept, `Closed` ends the stream. Resume at `Index + 1`.',
    table(['Topic', 'Types'], rows),
    '## Events of tasks',
    'The latest 10 events of each task are in `TaskStates` of its allocation; `reeve alloc status` ' +
      'prints them. Drivers add events with other names.',
    table(
      ['Event', 'Description'],
      TASK_EVENT_TYPES.map((type) => [code(type), TASK_EVENTS[type]]),
    ),
  ])
}

const TASK_EVENTS: Readonly<Record<TaskEventType, string>> = {
  'Setup Failure': 'A step before the start failed; the message names it.',
  'Driver Failure': 'The driver could not start the task.',
  Started: 'The task runs.',
  Terminated: 'The task ended, with its exit code or signal.',
  Killing: 'The task is being stopped; it is killed after `kill_timeout`.',
  Killed: 'The task was stopped by the agent.',
  Received: 'The node received the task.',
  'Failed Validation': 'The configuration of the task is invalid on this node.',
  Restarting: 'The task ended and starts again after a delay.',
  'Not Restarting': 'The task ended and `restart` allows no further attempt.',
  'Downloading Artifacts': 'Artifacts are being downloaded.',
  'Failed Artifact Download': 'An artifact could not be downloaded.',
  'Restart Signaled': 'A user, a template or a failing check restarts the task.',
  Signaling: 'A signal is sent to the task.',
  'Sibling Task Failed': 'Another task of the group failed, so this one is stopped.',
  'Leader Task Dead': 'The leader of the group ended, so this task is stopped.',
  Driver: 'A message of the driver, such as the progress of an image pull.',
  'Task Setup': 'The task is being prepared.',
  'Building Task Directory': 'The directory of the task is being created.',
  'Main Tasks Dead': 'All main tasks ended, so this sidecar is stopped.',
  'Disk Resources Exceeded': 'The allocation wrote more than `ephemeral_disk` allows.',
  'Task hook failed': 'A step around the task failed, such as the registration of a service.',
  'Task hook message': 'A message of such a step.',
  'Failed Restoring Task': 'The agent restarted and could not reattach to the task.',
  'Plugin became unhealthy': 'The plugin that the task provides stopped answering.',
  'Plugin became healthy': 'The plugin that the task provides answers.',
  Reconnected: 'The node is connected again; the task kept running.',
  'Waiting for shutdown delay': 'Services are deregistered; the task stops after `shutdown_delay`.',
  'Skipping shutdown delay': 'The task is stopped without `shutdown_delay`.',
  Pausing: 'A scheduled task is paused.',
  Running: 'A scheduled task leaves its pause.',
  'Alloc Unhealthy': 'The allocation was not healthy within `healthy_deadline`.',
  Template: 'A template waits for data, or failed to render.',
}

/** Types whose names do not begin with their topic. */
const OTHER_TOPICS: Readonly<Record<string, (typeof EVENT_TOPICS)[number]>> = {
  PlanResult: 'Allocation',
  PolicyDenied: 'PolicyVerdict',
  PolicyOverridden: 'PolicyVerdict',
}

function topicOf(type: string): string | undefined {
  const matching = EVENT_TOPICS.filter((topic) => type.startsWith(topic))
  return OTHER_TOPICS[type] ?? matching.toSorted((a, b) => b.length - a.length)[0]
}

const KINDS: readonly (readonly [title: string, prefix: string, names: readonly string[]])[] = [
  ['namespace', 'namespace', NAMESPACE_CAPABILITIES],
  ['node_pool', 'node_pool', NODE_POOL_CAPABILITIES],
  ['host_volume', 'host_volume', HOST_VOLUME_CAPABILITIES],
  ['operator', 'operator', OPERATOR_CAPABILITIES],
  ['variables', 'variables', VARIABLE_CAPABILITIES],
]

/** Which routes ask for each capability, as the contract says. */
function capabilitiesPage(): string {
  const routes: readonly Route[] = [...Object.values(v1Routes), ...Object.values(v2.v2Routes)]
  const parts = KINDS.flatMap(([title, prefix, names]) => [
    `## ${title}`,
    table(
      ['Capability', 'Routes that accept it'],
      names.map((name) => [code(name), routesRequiring(routes, `${prefix}:${name}`)]),
    ),
  ])
  return page('Capabilities', [
    'Every capability that a rule of an access policy may grant, and the routes that accept it. ' +
      '[Access control](access-control.md) explains rules and shorthands such as `policy = "read"`. ' +
      'A management token has all capabilities.',
    '`deny` takes everything away. A capability without routes is accepted in rules and grants ' +
      'nothing by itself.',
    ...parts,
  ])
}

function routesRequiring(routes: readonly Route[], capability: string): string {
  const pattern = new RegExp(String.raw`(?<![\w:-])${capability}(?![\w-])`)
  return routes
    .filter(({ needs }) => pattern.test(needs))
    .map(({ id, path, section }) => {
      const isGovernance = path.startsWith('/api/v2')
      const name = anchor(section).replaceAll(/-+/g, '-')
      return `[${id}](api/${isGovernance ? 'governance-' : ''}${name}.md#${id.toLowerCase()})`
    })
    .join(', ')
}
