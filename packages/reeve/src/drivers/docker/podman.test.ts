import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { openEngines, podmanUnavailable, TEST_IMAGE } from '../../../test/build/podman.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import {
  shellTaskDriverSuite,
  stubbornCommandCase,
  written,
} from '../../../test/suites/shell-task-driver.ts'
import { taskDriverSuite } from '../../../test/suites/task-driver.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { DockerDriver } from './docker-driver.ts'
import type { DockerPolicy } from './docker-policy.ts'

const CASES_AT_ONCE = 4

const policy: DockerPolicy = {
  allowPrivileged: false,
  allowVolumes: false,
  allowHostNamespaces: false,
  allowCaps: DEFAULT_CAPS,
  pidsMax: 4_096,
}

function engineSuite(name: string, socketPath: string): void {
  const makeDriver = (): DockerDriver =>
    new DockerDriver({ clock: systemClock, socketPath, policy })
  const openBench = (t: TestContext): Promise<ProgramBench> =>
    ProgramBench.open(t, () => ({
      driver: makeDriver(),
      config: (text) => {
        return { image: TEST_IMAGE, network_mode: 'none', command: 'sh', args: ['-c', text] }
      },
    }))

  taskDriverSuite(name, async (t) => {
    const bench = await openBench(t)
    return {
      driver: bench.driver,
      reopen: makeDriver,
      launch: (behaviour) =>
        // The first process of a container cannot kill itself.
        behaviour.kind === 'dies'
          ? bench.script(`sh -c 'kill -${behaviour.signal} $$'; exit $?`)
          : bench.launch(behaviour),
      wait: (promise) => promise,
      ready: (task) => bench.ready(task),
    }
  })

  shellTaskDriverSuite(name, openBench, {
    exactSignals: 'engines tell death by a signal only as 128 more',
    exactEnvironment: 'images have variables of their own',
    supervisor: 'the engine is the supervisor',
    limits: 'podman does not tell of it on every kind of control groups',
  })

  stubbornCommandCase(name, openBench)

  test(`${name}: every line of a busy container is kept, and bytes that are no text`, async (t) => {
    const bench = await openBench(t)
    const text = `seq 1 20000; head -c 300000 /dev/zero; head -c 300000 /dev/zero | tr '\\0' x; echo e >&2`
    const task = await bench.driver.start(bench.script(text))
    await task.exited
    const lines = Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join('')
    const want = `${lines}${'\0'.repeat(300_000)}${'x'.repeat(300_000)}`
    const found = await written(bench.logs.stdoutPrefix)
    assert.deepEqual([found.length, found === want], [want.length, true])
    assert.equal(await written(bench.logs.stderrPrefix), 'e\n')
  })
}

/** Podman has an API of its own for it; the proxy does not translate that of the Docker Engine. */
function coresCase(name: string, socketPath: string): void {
  test(`${name}: a container that runs is moved to other cores`, async (t) => {
    const driver = new DockerDriver({ clock: systemClock, socketPath, policy })
    const bench = await ProgramBench.open(t, () => ({
      driver,
      config: (text) => {
        return { image: TEST_IMAGE, network_mode: 'none', command: 'sh', args: ['-c', text] }
      },
    }))
    await driver.fingerprint()
    const text = `echo ready; while ! [ -e /alloc/data/go ]; do sleep 0.05; done
grep Cpus_allowed_list /proc/self/status`
    const task = await bench.driver.start(bench.script(text))
    await bench.ready(task)
    await driver.shareCores([0])
    await writeFile(join(bench.dir, 'alloc/data/go'), '')
    await task.exited
    assert.match(await written(bench.logs.stdoutPrefix), /^Cpus_allowed_list:\s+0$/m)
  })
}

const why = podmanUnavailable()
if (why !== false) test('docker with podman', { skip: why }, () => undefined)
else {
  const engines = await openEngines(after)
  // Most of each case is waiting for the engine; all have containers and directories of their own.
  for (const { name, socketPath, podman } of engines) {
    if (socketPath === podman.socketPath) coresCase(`docker with ${name}`, socketPath)
    suite(`docker with ${name}`, { concurrency: CASES_AT_ONCE }, () => {
      engineSuite(`docker with ${name}`, socketPath)
    })
  }
}
