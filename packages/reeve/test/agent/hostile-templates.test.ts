/** Templates that would take minutes: the agent stays responsive, and other jobs start. */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import type { Template } from '@reeve/contract'
import { diskStorage } from '../../src/agent/index.ts'
import { RawExecDriver } from '../../src/drivers/index.ts'
import { TEMPLATE_LIMITS } from '@reeve/go-template'
import {
  allocationId,
  anAgent,
  anAssignment,
  aTask,
  FakeServer,
  restartPolicy,
  systemClock,
} from '../build/agent.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const HEARTBEAT_MS = 100
/** Other tests share the machine. Rendered on the event loop, each template took over 20 s. */
const STALL_MS_MAX = 2_000

function aTemplate(EmbeddedTmpl: string): Template {
  return {
    SourcePath: '',
    DestPath: 'local/x',
    EmbeddedTmpl,
    ChangeMode: 'restart',
    ChangeSignal: '',
    ChangeScript: null,
    Once: false,
    Splay: 0,
    Perms: '0644',
    Uid: null,
    Gid: null,
    LeftDelim: '{{',
    RightDelim: '}}',
    Envvars: false,
    Wait: null,
    ErrMissingKey: false,
  }
}

const HOSTILE = [
  '{{ $a := sprig_repeat 4000000 "a" }}{{ range loop 3000 }}{{ $a | toUpper | len }}{{ end }}',
  '{{ $a := sprig_repeat 4000000 "a" }}{{ range loop 50 }}{{ $a | replaceAll "a" "b" | len }}{{ end }}',
  '{{ $a := sprig_repeat 10000000 "a" }}{{ range loop 400 }}{{ sha256Hex $a }}{{ end }}',
  // A slow machine ends it by the time limit, a fast one by the byte budget.
  '{{ range loop 4 }}{{ regexMatch "(a?){100}a{100}" (sprig_repeat 20000 "ab1-") }}{{ end }}',
]

const EVENT = new RegExp(
  `Template failed: ("local/x": line 1: .*template processing exceeds ${TEMPLATE_LIMITS.bytesMax} bytes` +
    '|rendering "local/x" took longer than 5 s)',
)

test('hostile templates fail their own tasks and stall nothing', async (t) => {
  const server = new FakeServer()
  server.heartbeatMs = HEARTBEAT_MS
  const assignment = (n: number, templates: readonly Template[]) =>
    anAssignment({
      allocation: { ID: allocationId(n) },
      job: { ID: `job-${n}` },
      tasks: [
        aTask({
          Driver: 'raw_exec',
          Config: { command: '/bin/sleep', args: ['1000'] },
          RestartPolicy: restartPolicy({ Attempts: 0, Mode: 'fail' }),
          Templates: templates,
        }),
      ],
    })
  server.assign(...HOSTILE.map((text, n) => assignment(n, [aTemplate(text)])))
  const agent = anAgent({
    dial: server.dial,
    clock: systemClock,
    drivers: [new RawExecDriver({ clock: systemClock })],
    storage: diskStorage(await temporaryDirectory(t)),
  })
  t.after(() => agent.stop({ killTasks: true }))
  await agent.start()
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const beats = (): number => server.received.filter(({ kind }) => kind === 'heartbeat').length
  const startMs = performance.now()
  const victims = [10, 11]
  server.assign(assignment(10, []), assignment(11, [aTemplate('{{ env "REEVE_JOB_ID" }}')]))
  const isRunning = (n: number): boolean => server.statusOf(allocationId(n)) === 'running'
  await server.until('the other jobs to start', () => victims.every(isRunning), 60_000)
  const hostile = HOSTILE.map((_, n) => allocationId(n))
  const isFailed = (id: string): boolean => server.statusOf(id) === 'failed'
  await server.until('the hostile jobs to fail', () => hostile.every(isFailed), 120_000)
  const tookMs = performance.now() - startMs
  delay.disable()
  for (const id of hostile) {
    const events = server.updates.get(id)?.TaskStates?.['web']?.Events ?? []
    const messages = events.map(({ DisplayMessage }) => DisplayMessage)
    assert.ok(
      messages.some((message) => EVENT.test(message)),
      messages.join('\n'),
    )
  }
  assert.ok(victims.every(isRunning), 'the other jobs go on')
  const stalledMs = Math.round(delay.max / 1e6)
  assert.ok(stalledMs < STALL_MS_MAX, `the event loop was held for ${stalledMs} ms`)
  // Each stall could cost its length; a machine that is busy makes timers late as well.
  assert.ok(beats() >= tookMs / (10 * HEARTBEAT_MS), `${beats()} heartbeats in ${tookMs} ms`)
})
