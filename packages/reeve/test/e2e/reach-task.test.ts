import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

test('program: what a task wrote, a command inside it, and what it uses, are reached through the server', async (t) => {
  const directory = await temporaryDirectory(t)
  const { client, address } = await startProgram(t, directory)
  const Config = { command: '/bin/sh', args: ['-c', 'echo hello; exec sleep 300'] }
  const Tasks = [{ Name: 'task', Driver: 'raw_exec', Config }]
  const Job = { ID: 'reached', TaskGroups: [{ Name: 'group', Tasks }] }
  await client.v1.registerJob({ body: { Job } })
  const params = { job_id: 'reached' }
  const { ID } = await until('the allocation to run', async () => {
    const { data } = await client.v1.listJobAllocations({ params })
    return data.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const logs = await until('its output', async () => {
    const response = await fetch(`${address}/v1/job/reached/logs?prefix=true`)
    const text = await response.text()
    return text === '' ? undefined : text
  })
  assert.equal(logs, `${ID.slice(0, 8)} task: hello\n`)
  const command = ['/bin/sh', '-c', 'echo $REEVE_TASK_NAME; exit 4']
  const session = await client.exec({ allocId: ID, task: 'task', command })
  const output: Uint8Array[] = []
  for await (const chunk of session.stdout) output.push(chunk)
  assert.equal(Buffer.concat(output).toString(), 'task\n')
  assert.equal(await session.exit, 4)
  const usage = await client.v1.readAllocationStats({ params: { alloc_id: ID } })
  assert.ok(usage.data.ResourceUsage.MemoryStats.RSS > 0)
  // The node of this process is meant when none is named.
  const host = await client.v1.readClientStats({})
  assert.ok(host.data.Memory.Total > 0)
  await client.v1.restartAllocation({ params: { alloc_id: ID }, body: {} })
  await until('the second output', async () => {
    const response = await fetch(`${address}/v1/job/reached/logs?type=stdout`)
    return (await response.text()) === 'hello\nhello\n' ? true : undefined
  })
  await client.v1.stopJob({ params })
})
