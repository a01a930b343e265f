import { readFile } from 'node:fs/promises'
import { argv, stdout } from 'node:process'
import { diskStorage } from '../../src/agent/index.ts'
import { RawExecDriver } from '../../src/drivers/index.ts'
import { anAgent, FakeServer, systemClock } from './agent.ts'

/**
 * An agent in a process of its own, for tests that kill it: `agent-process.ts <data dir> <assignments.json>`.
 * Prints each allocation's status when it changes, one line each.
 */
const [, , dataDir = '', assignmentsPath = ''] = argv
const server = new FakeServer()
server.assign(...JSON.parse(await readFile(assignmentsPath, 'utf8')))
const drivers = [new RawExecDriver({ clock: systemClock })]
const storage = diskStorage(dataDir)
const agent = anAgent({ server, clock: systemClock, drivers, storage })
await agent.start()

const said = new Map<string, string>()
await server.until(
  'the end of the test',
  () => {
    for (const { ID, ClientStatus } of server.updates.values()) {
      if (said.get(ID) === ClientStatus) continue
      said.set(ID, ClientStatus)
      stdout.write(`${ID} ${ClientStatus}\n`)
    }
    return false
  },
  60_000,
)
