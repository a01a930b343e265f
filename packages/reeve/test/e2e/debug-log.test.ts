import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

test('log_level debug: requests, commits and task events are logged', async (t) => {
  const directory = await temporaryDirectory(t)
  const flags = ['--log-level', 'debug', '--log-json']
  const { client, output } = await startProgram(t, join(directory, 'data'), flags)
  const Task = { Name: 'main', Driver: 'raw_exec', Config: { command: '/bin/true' } }
  const Job = { ID: 'seen', Type: 'batch', TaskGroups: [{ Name: 'app', Tasks: [Task] }] }
  await client.v1.registerJob({ body: { Job } })
  for (const line of [
    /"requestId":".+","method":"(?:PUT|POST)","path":"\/v1\/jobs","status":200,.*"answered"/,
    /"index":\d+,"events":\[.*"JobRegistered".*"rows":\[.*"committed"/,
    /"allocation":".+","task":"main","event":"Terminated","says":"Exit Code: 0.*"task event"/,
  ])
    await until(`a line like ${line.source}`, () => line.test(output()) || undefined)
})
