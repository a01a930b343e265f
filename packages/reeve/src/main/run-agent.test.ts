import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import test from 'node:test'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { Logger } from './log.ts'
import type { RunningAgent } from './start-agent.ts'
import { runAgent, type AgentRunOptions } from './run-agent.ts'

/** An agent whose program, signals and clock are in the hands of the test. */
class Stage {
  readonly signals = new EventEmitter()
  readonly started = Promise.withResolvers<RunningAgent>()
  readonly stopped = Promise.withResolvers<void>()
  readonly failed = Promise.withResolvers<Fault>()
  readonly waited = Promise.withResolvers<void>()
  readonly events: string[] = []
  config = anAgentConfig()

  readonly program: RunningAgent = {
    httpAddress: 'http://127.0.0.1:4646',
    governanceToken: undefined,
    dataDirectory: '/data',
    failed: this.failed.promise,
    stop: () => {
      this.events.push('stop')
      return this.stopped.promise
    },
    reload: async () => {
      this.events.push('reload')
      if (this.certificates !== '') throw new Fault('tls', this.certificates)
    },
  }
  /** What is wrong with them. */
  certificates = ''

  run(): Promise<number> {
    const run: AgentRunOptions = {
      config: this.config,
      log: this.#log(),
      start: () => this.started.promise,
      signals: this.signals,
      announce: () => this.events.push('announce'),
      exit: (code) => this.events.push(`exit ${code}`),
      wait: () => this.waited.promise,
    }
    return runAgent(run)
  }

  #log(): Logger {
    const say = (level: string) => (_fields: object, message: string) => {
      this.events.push(`${level}: ${message}`)
    }
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  }
}

const STOPPING = 'info: stopping; a second signal ends it at once'

for (const signal of ['SIGINT', 'SIGTERM'])
  test(`agent: the first ${signal} stops it in order`, async () => {
    const stage = new Stage()
    stage.started.resolve(stage.program)
    stage.stopped.resolve()
    const code = stage.run()
    stage.signals.emit(signal)
    assert.equal(await code, 0)
    assert.deepEqual(stage.events, [STOPPING, 'stop', 'info: stopped'])
    assert.equal(stage.signals.listenerCount(signal), 0)
  })

test('agent: it is announced once it runs', async () => {
  const stage = new Stage()
  const code = stage.run()
  stage.started.resolve(stage.program)
  await new Promise(setImmediate)
  assert.deepEqual(stage.events, ['announce'])
  stage.signals.emit('SIGTERM')
  stage.stopped.resolve()
  assert.equal(await code, 0)
})

test('agent: a second signal ends the process while it stops', async () => {
  const stage = new Stage()
  stage.started.resolve(stage.program)
  const code = stage.run()
  stage.signals.emit('SIGINT')
  stage.signals.emit('SIGINT')
  assert.deepEqual(stage.events, [STOPPING], 'the same signal, heard twice')
  stage.waited.resolve()
  await new Promise(setImmediate)
  stage.signals.emit('SIGINT')
  stage.signals.emit('SIGTERM')
  assert.deepEqual(stage.events.slice(-2), ['exit 130', 'exit 143'])
  stage.stopped.resolve()
  await code
})

test('agent: a signal while it starts stops it as soon as it runs, unannounced', async () => {
  const stage = new Stage()
  const code = stage.run()
  stage.signals.emit('SIGTERM')
  stage.started.resolve(stage.program)
  stage.stopped.resolve()
  assert.equal(await code, 0)
  assert.deepEqual(stage.events, [STOPPING, 'stop', 'info: stopped'])
})

test('agent: a start that fails is one sentence and exit code 1', async () => {
  const stage = new Stage()
  stage.started.reject(new Fault('storage-locked', 'The data directory is in use. Stop it first.'))
  assert.equal(await stage.run(), 1)
  assert.deepEqual(stage.events, ['error: The data directory is in use. Stop it first.'])
})

test('agent: a start that fails by our mistake says so', async () => {
  const stage = new Stage()
  stage.started.reject(new TypeError('x is undefined'))
  assert.equal(await stage.run(), 1)
  assert.deepEqual(stage.events, ['error: Reeve could not start; this is a mistake in it'])
})

const failureCases = [
  { name: 'that stops', settle: (stage: Stage) => stage.stopped.resolve(), more: [] },
  {
    name: 'that cannot stop',
    settle: (stage: Stage) => stage.stopped.reject(new Error('no')),
    more: ['warn: stopped, but not cleanly'],
  },
  { name: 'that hangs while it stops', settle: (stage: Stage) => stage.waited.resolve(), more: [] },
]

for (const { name, settle, more } of failureCases)
  test(`agent: a program that fails and ${name} ends with exit code 1`, async () => {
    const stage = new Stage()
    stage.started.resolve(stage.program)
    const code = stage.run()
    stage.failed.resolve(new Fault('storage-full', 'The disk is full. Free space.'))
    settle(stage)
    assert.equal(await code, 1)
    const told = ['announce', 'error: The disk is full. Free space.', 'stop', ...more]
    assert.deepEqual(stage.events, told)
  })

test('agent: a stop that fails is told, with exit code 1', async () => {
  const stage = new Stage()
  stage.started.resolve(stage.program)
  const code = stage.run()
  stage.signals.emit('SIGTERM')
  stage.stopped.reject(new Error('no'))
  assert.equal(await code, 1)
  assert.match(stage.events.at(-1) ?? '', /^error: stopped, but not cleanly/)
})

test('agent: SIGHUP reads the certificates again and goes on, right or wrong', async () => {
  const stage = new Stage()
  const config = anAgentConfig({ flags: { server: true, dataDirectory: '/data' } })
  stage.config = { ...config, tls: { ...config.tls, http: true } }
  stage.started.resolve(stage.program)
  stage.stopped.resolve()
  const code = stage.run()
  await turns()
  stage.signals.emit('SIGHUP')
  await turns()
  stage.certificates = 'no such file'
  stage.signals.emit('SIGHUP')
  await turns()
  stage.signals.emit('SIGTERM')
  assert.equal(await code, 0)
  assert.deepEqual(stage.events.slice(0, 5), [
    'announce',
    'reload',
    'info: the certificates were read again',
    'reload',
    'error: the certificates stay as they were',
  ])
})

test('agent: SIGHUP to one without certificates says that there are none', async () => {
  const stage = new Stage()
  stage.config = anAgentConfig({ flags: { server: true, dataDirectory: '/data' } })
  stage.started.resolve(stage.program)
  stage.stopped.resolve()
  const code = stage.run()
  await turns()
  stage.signals.emit('SIGHUP')
  await turns()
  assert.match(stage.events.at(-1) ?? '', /^info: nothing is read again: .* no certificates/)
  stage.signals.emit('SIGTERM')
  await code
})

test('agent: one that is tried out leaves SIGHUP to the system', async () => {
  const stage = new Stage()
  stage.started.resolve(stage.program)
  stage.stopped.resolve()
  const code = stage.run()
  await turns()
  assert.equal(stage.signals.listenerCount('SIGHUP'), 0)
  stage.signals.emit('SIGTERM')
  await code
})

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
