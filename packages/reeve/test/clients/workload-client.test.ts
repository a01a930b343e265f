import { join } from 'node:path'
import { test } from 'node:test'
import { startProgram } from '../e2e/program-process.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { buildGoClient, runGoClient } from './go-client.ts'

test('the unmodified Go client of the workload API works', async (t) => {
  const directory = await temporaryDirectory(t)
  const [built, server] = await Promise.all([
    buildGoClient('workload', directory),
    startProgram(t, join(directory, 'data')),
  ])
  if (typeof built === 'string') return t.skip(built)
  await runGoClient(t, {
    program: built.program,
    args: [join(import.meta.dirname, 'web.hcl')],
    environment: { NOMAD_ADDR: server.address },
    stepsMin: 16,
  })
})
