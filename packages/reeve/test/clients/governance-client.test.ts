import { join } from 'node:path'
import { test } from 'node:test'
import { startProgram } from '../e2e/program-process.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { buildGoClient, runGoClient } from './go-client.ts'
import { SKIPPED } from './infrastructure-tool.ts'

test('the unmodified Go client of the governance API works', async (t) => {
  const directory = await temporaryDirectory(t)
  const [built, server] = await Promise.all([
    buildGoClient('governance', directory),
    startProgram(t, join(directory, 'data')),
  ])
  if (typeof built === 'string') return t.skip(built)
  const token = await until('the token', () => {
    return /Authorization: Bearer (\S+)/.exec(server.output())?.[1]
  })
  const environment = { TFE_ADDRESS: server.address, TFE_TOKEN: token }
  await runGoClient(t, {
    program: built.program,
    environment: { ...environment, EXECUTE_RUNS: String(SKIPPED === false) },
    stepsMin: 17,
  })
})
