import { readFile } from 'node:fs/promises'
import { stdout } from 'node:process'
import { diskStorage } from '../../src/agent/index.ts'
import { RawExecDriver } from '../../src/drivers/index.ts'
import { anAgent, FakeServer, systemClock } from './agent.ts'

/** This file, for a test that has it run in a process of its own. */
export const AGENT_PROCESS_FILE = import.meta.filename

/**
 * Runs an agent until it is killed. Prints each allocation's status when it changes, one line each.
 */
export async function runAgentProcess(dataDir: string, assignmentsPath: string): Promise<void> {
  const server = new FakeServer()
  server.assign(...JSON.parse(await readFile(assignmentsPath, 'utf8')))
  const drivers = [new RawExecDriver({ clock: systemClock })]
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
