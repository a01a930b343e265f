import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath, getuid, kill } from 'node:process'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import {
  AGENT_PROCESS_FILE,
  nativeDrivers,
  runAgentProcess,
} from '../../../test/build/agent-process.ts'
import {
  allocationId,
  anAgent,
  anAssignment,
  aTask,
  FakeServer,
  stopped,
  systemClock,
} from '../../../test/build/agent.ts'
import { diskStorage } from '../../agent/index.ts'

type Assignment = ReturnType<typeof anAssignment>

const program = join(import.meta.dirname, '../../../../../node_modules/.cache/reeve/reeve-task')
const why = existsSync(program) ? '' : 'the native helper was not built'
const skip = getuid?.() === 0 ? why : 'only root may isolate tasks'

function scripted(n: number, driver: string, script: string): Assignment {
  const Config = { command: 'sh', args: ['-c', script] }
  return anAssignment({
    job: { Type: 'batch' },
    tasks: [aTask({ Name: 'work', Driver: driver, Config })],
    allocation: { ID: allocationId(n) },
  })
}

/** Runs an agent in another process and kills it, and its launcher, once all tasks run. */
async function killedAgent(dir: string, assignments: readonly Assignment[]): Promise<void> {
  const path = join(dir, 'assignments.json')
  await writeFile(path, JSON.stringify(assignments))
  const { name } = runAgentProcess
  const script = `import { ${name} } from ${JSON.stringify(AGENT_PROCESS_FILE)}
    await ${name}(process.argv[1], process.argv[2], process.argv[3])`
  const data = join(dir, 'data')
  const args = ['--input-type=module', '-e', script, data, path, program]
  const child = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let running = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.endsWith(' running')) running += 1
    if (running === assignments.length) break
  }
  const launcher: unknown = JSON.parse(await readFile(join(data, 'drivers/launcher.json'), 'utf8'))
  child.kill('SIGKILL')
  kill(Number(Reflect.get(Object(launcher), 'pid')), 'SIGKILL')
  await once(child, 'exit')
}

function exitCodeOf(server: FakeServer, n: number): number | undefined {
  const state = server.updates.get(allocationId(n))?.TaskStates?.['work']
  return state?.Events.find((event) => event.Type === 'Terminated')?.ExitCode
}

for (const driver of ['exec', 'raw_exec']) {
  test(
    `fifty ${driver} tasks survive the kill of agent and launcher with every code and log`,
    { skip: skip === '' ? false : skip },
    async (t) => {
      const dir = await mkdtemp(join(tmpdir(), 'reeve-test-'))
      await chmod(dir, 0o711)
      t.after(() => rm(dir, { recursive: true, force: true }))
      const numbers = Array.from({ length: 50 }, (_, n) => n + 1)
      const script = (n: number): string => {
        return `echo ${n}; while ! [ -e "$REEVE_ALLOC_DIR/data/go" ]; do sleep 0.1; done; exit ${n}`
      }
      const assignments = numbers.map((n) => scripted(n, driver, script(n)))
      const forever = scripted(51, driver, 'echo 51; exec sleep 1000')
      await killedAgent(dir, [...assignments, forever])
      const home = (n: number): string => join(dir, 'data/alloc', allocationId(n), 'alloc')
      // Half of them end while no agent is there.
      for (const n of numbers.slice(0, 25)) await writeFile(join(home(n), 'data/go'), '')

      const server = new FakeServer()
      server.assign(...assignments, forever)
      const data = join(dir, 'data')
      const drivers = nativeDrivers(data, program)
      const agent = anAgent({
        dial: server.dial,
        clock: systemClock,
        drivers: [...drivers],
        storage: diskStorage(data),
      })
      await agent.start()
      for (const n of numbers.slice(25)) await writeFile(join(home(n), 'data/go'), '')
      const all = (): boolean => numbers.every((n) => exitCodeOf(server, n) !== undefined)
      await server.until('all exits', all, 60_000)
      assert.deepEqual(
        numbers.map((n) => exitCodeOf(server, n)),
        numbers,
      )
      for (const n of [...numbers, 51]) {
        assert.equal(await readFile(join(home(n), 'logs/work.stdout.0'), 'utf8'), `${n}\n`)
      }
      assert.equal(server.statusOf(allocationId(51)), 'running')
      server.assign(stopped(forever))
      await server.until('the stop', () => server.statusOf(allocationId(51)) === 'complete')
      await agent.stop()
    },
  )
}
