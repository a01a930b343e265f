import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { EngineProxy } from '../../../test/build/engine-proxy.ts'
import { FakeEngine } from '../../../test/build/fake-engine.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { until } from '../../../test/build/until.ts'
import { written } from '../../../test/suites/shell-task-driver.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { DockerDriver } from './docker-driver.ts'
import { EngineClient } from './engine-client.ts'

interface Bench {
  readonly bench: ProgramBench
  readonly proxy: EngineProxy
  readonly engine: FakeEngine
  readonly driver: () => DockerDriver
}

/** The driver speaks with its engine through a proxy that can be away. */
async function openBench(t: TestContext): Promise<Bench> {
  let parts: { readonly engine: FakeEngine; readonly proxy: EngineProxy } | undefined
  const driver = (): DockerDriver => {
    assert.ok(parts !== undefined)
    const policy = {
      allowPrivileged: false,
      allowVolumes: false,
      allowHostNamespaces: false,
      allowCaps: DEFAULT_CAPS,
      pidsMax: 4_096,
    }
    return new DockerDriver({ clock: systemClock, socketPath: parts.proxy.socketPath, policy })
  }
  const bench = await ProgramBench.open(t, async (dir) => {
    const engine = await FakeEngine.open(dir)
    const socketPath = join(dir, 'proxy.sock')
    const proxy = await EngineProxy.open({ socketPath, target: engine.socketPath, manner: 'as-is' })
    parts = { engine, proxy }
    return {
      driver: driver(),
      config: (text) => ({ image: 'box:1', command: 'sh', args: ['-c', text] }),
      close: async () => {
        await proxy.close()
        engine.close()
      },
    }
  })
  assert.ok(parts !== undefined)
  return { bench, ...parts, driver }
}

async function hasEnded({ socketPath }: FakeEngine): Promise<true | undefined> {
  const engine = new EngineClient(socketPath)
  const { body } = await engine.call({ method: 'GET', path: '/containers/json' })
  engine.close()
  return body.includes('"State":"exited"') ? true : undefined
}

test('engine unavailable: a task is neither lost nor ended', async (t) => {
  const { bench, proxy, driver } = await openBench(t)
  const launch = bench.script('while ! [ -e go ]; do sleep 0.02; done; exit 43')
  const task = await driver().start(launch)
  task.detach()
  await proxy.interrupt()
  const next = driver()
  await assert.rejects(next.recover(launch.handle), { kind: 'driver-away' })
  assert.equal((await next.fingerprint()).healthy, false)
  await proxy.resume()
  const found = await next.recover(launch.handle)
  assert.equal(found.kind, 'attached')
  if (found.kind !== 'attached') return
  await found.task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
})

test('engine unavailable: still detected, but unhealthy', async (t) => {
  const { proxy, driver } = await openBench(t)
  const one = driver()
  const before = await one.fingerprint()
  await proxy.interrupt()
  const away = await one.fingerprint()
  assert.deepEqual([away.detected, away.healthy], [true, false])
  assert.deepEqual(away.attributes, before.attributes)
  assert.match(away.description, /does not answer/)
  await proxy.resume()
  assert.equal((await one.fingerprint()).healthy, true)
})

test('engine away: exit code and output of a task that ends meanwhile are kept', async (t) => {
  const { bench, proxy, engine, driver } = await openBench(t)
  const launch = bench.script('echo one; sleep 0.3; seq 1 3000; exit 43')
  const task = await driver().start(launch)
  await until('the first line', async () => {
    return (await written(bench.logs.stdoutPrefix)) === 'one\n' ? true : undefined
  })
  await proxy.interrupt()
  await until('the end of the container', () => hasEnded(engine))
  await proxy.resume()
  assert.equal((await task.exited).exitCode, 43)
  const lines = Array.from({ length: 3_000 }, (_, n) => `${n + 1}\n`).join('')
  assert.equal(await written(bench.logs.stdoutPrefix), `one\n${lines}`)
})

test('engine away: a stop cannot be carried out now, and is no failed kill', async (t) => {
  const { bench, proxy, driver } = await openBench(t)
  const task = await driver().start(bench.launch({ kind: 'runs' }))
  await proxy.interrupt()
  const stopping = { signal: 'SIGTERM', timeoutMs: 5_000 }
  await assert.rejects(task.stop(stopping), { kind: 'driver-away' })
  await proxy.resume()
  await task.stop(stopping)
  await task.exited
})

test('engine unavailable: remains of a start are removed when it is back', async (t) => {
  const { bench, proxy, engine, driver } = await openBench(t)
  const launch = bench.launch({ kind: 'runs' })
  proxy.interruptsAfter = /^POST .*\/start$/
  const outcome = assert.rejects(driver().start(launch), { kind: 'task-start' })
  await until('the engine to be away', () => (proxy.isAway ? true : undefined))
  assert.equal(engine.containerCount, 1)
  await proxy.resume()
  await outcome
  assert.equal(engine.containerCount, 0)
})
