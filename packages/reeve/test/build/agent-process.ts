import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stdout } from 'node:process'
import { diskStorage } from '../../src/agent/index.ts'
import { ExecDriver, NativeSupervisor, RawExecDriver } from '../../src/drivers/index.ts'
import type { TaskDriver } from '../../src/agent/index.ts'
import { anAgent, FakeServer, systemClock } from './agent.ts'

/** This file, for a test that has it run in a process of its own. */
export const AGENT_PROCESS_FILE = import.meta.filename

/**
 * Runs an agent until it is killed. Prints each allocation's status when it changes, one line each.
 */
export async function runAgentProcess(
  dataDir: string,
  assignmentsPath: string,
  program?: string,
): Promise<void> {
  const server = new FakeServer()
  server.assign(...JSON.parse(await readFile(assignmentsPath, 'utf8')))
  const drivers =
    program === undefined
      ? [new RawExecDriver({ clock: systemClock })]
      : nativeDrivers(dataDir, program)
  const agent = anAgent({
    dial: server.dial,
    clock: systemClock,
    drivers,
    storage: diskStorage(dataDir),
  })
  await agent.start()
  const said = new Map<string, string>()
  const speak = (): boolean => {
    for (const { ID, ClientStatus } of server.updates.values()) {
      if (said.get(ID) === ClientStatus) continue
      said.set(ID, ClientStatus)
      stdout.write(`${ID} ${ClientStatus}\n`)
    }
    return false
  }
  await server.until('the end of the test', speak, 120_000)
}

/** `exec` and `raw_exec` under the helper, as an agent with this data directory has them. */
export function nativeDrivers(dataDir: string, program: string): readonly TaskDriver[] {
  const clock = systemClock
  const stateDir = join(dataDir, 'drivers')
  const helper = new NativeSupervisor({ program, stateDir, clock })
  const policy = {
    allowCaps: [],
    denyUsers: ['root'],
    denyGroups: [],
    allowGroups: [],
    allowHostNamespaces: false,
    isCpuHard: false,
    pidsMax: 1_000,
    chrootEnv: undefined,
  }
  return [new RawExecDriver({ clock, helper }), new ExecDriver({ clock, helper, policy, stateDir })]
}
