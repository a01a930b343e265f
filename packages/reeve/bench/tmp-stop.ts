import { createClient } from '@reeve/sdk'
import { mkdtemp } from 'node:fs/promises'
import { startProgram } from './program.ts'
import * as http from './http-connection.ts'
const mode = process.argv[2]
const program = await startProgram({ directory: await mkdtemp('/tmp/h12/stop-') })
const client = createClient({ address: program.address })
if (mode?.includes('fetch')) console.log(await client.v1.listJobs({}))
if (mode?.includes('metric')) console.log(await program.metric('jobs'))
if (mode?.includes('task')) {
  await client.v1.registerJob({
    body: {
      Job: {
        ID: 'a',
        TaskGroups: [
          {
            Name: 'app',
            Tasks: [
              { Name: 'main', Driver: 'raw_exec', Config: { command: '/bin/sleep', args: ['60'] } },
            ],
          },
        ],
      },
    },
  })
  await new Promise((r) => setTimeout(r, 1000))
}
if (mode?.includes('stream')) {
  const abort = new AbortController()
  for await (const line of client.events({ heartbeats: true, signal: abort.signal })) {
    console.log(JSON.stringify(line))
    break
  }
  abort.abort()
}
if (mode?.includes('unused')) {
  const cs = await http.openConnections(program.port, 1)
  await new Promise((r) => setTimeout(r, 500))
}
if (mode?.includes('park')) {
  const [c] = await http.openConnections(program.port, 1)
  void c?.send(http.requestText('/v1/jobs?index=99999'))
  await new Promise((r) => setTimeout(r, 500))
}
if (mode?.includes('raw')) {
  const cs = await http.openConnections(program.port, 4)
  for (const c of cs) await http.sendOk(c, http.requestText('/v1/jobs'))
  if (mode?.includes('close')) for (const c of cs) c.close()
}
const t = performance.now()
await program.stop()
console.log(mode, 'stopped in', performance.now() - t)
process.exit()
