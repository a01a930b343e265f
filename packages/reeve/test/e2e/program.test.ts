import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiError, createClient, type Client } from '@reeve/sdk'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

function shellJob(id: string, script: string, type = 'service') {
  const Config = { command: '/bin/sh', args: ['-c', script] }
  return {
    ID: id,
    Type: type,
    TaskGroups: [{ Name: 'group', Tasks: [{ Name: 'task', Driver: 'raw_exec', Config }] }],
  }
}

async function allocationOf(client: Client, jobId: string, status: string) {
  return await until(`an allocation of ${jobId} that is ${status}`, async () => {
    const { data } = await client.v1.listJobAllocations({ params: { job_id: jobId } })
    return data.find((allocation) => allocation.ClientStatus === status)
  })
}

async function logOf(directory: string, allocationId: string): Promise<string> {
  const path = join(directory, 'client/alloc', allocationId, 'alloc/logs/task.stdout.0')
  return await readFile(path, 'utf8')
}

/** A process that ended and that nobody has waited for yet does not run. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !/\) [ZX] /.test(stat)
}

test('program', async (t) => {
  const directory = await temporaryDirectory(t)
  let program = await startProgram(t, directory)
  const { client, address } = program

  await t.test(
    'program: a job runs, its output is in its log, and stopping it ends its whole process tree',
    async () => {
      const job = shellJob('tree', 'sleep 300 & echo $$ $!; wait')
      const { data } = await client.v1.registerJob({ body: { Job: job } })
      assert.equal(data.JobModifyIndex, data.EvalCreateIndex)
      const { ID } = await allocationOf(client, 'tree', 'running')
      const pids = await until('both process ids', async () => {
        const found = (await logOf(directory, ID)).trim().split(' ').map(Number)
        return found.length === 2 ? found : undefined
      })
      assert.deepEqual(await Promise.all(pids.map(isRunning)), [true, true])
      const stopped = await client.v1.stopJob({ params: { job_id: 'tree' } })
      assert.notEqual(stopped.data.EvalID, '')
      const ended = await allocationOf(client, 'tree', 'complete')
      assert.equal(ended.DesiredStatus, 'stop')
      assert.deepEqual(await Promise.all(pids.map(isRunning)), [false, false])
      const after = await client.v1.readJob({ params: { job_id: 'tree' } })
      assert.deepEqual([after.data.Stop, after.data.Status], [true, 'dead'])
    },
  )

  await t.test(
    'program: a batch job that ends is complete, one that fails says its exit code',
    async () => {
      await client.v1.registerJob({ body: { Job: shellJob('good', 'echo done', 'batch') } })
      const good = await allocationOf(client, 'good', 'complete')
      assert.equal(await logOf(directory, good.ID), 'done\n')
      const bad = shellJob('bad', 'exit 3', 'batch')
      const [group] = bad.TaskGroups
      const RestartPolicy = { Attempts: 0, Mode: 'fail' }
      const ReschedulePolicy = { Attempts: 0, Unlimited: false }
      const Job = { ...bad, TaskGroups: [{ ...group, RestartPolicy, ReschedulePolicy }] }
      await client.v1.registerJob({ body: { Job } })
      const failed = await allocationOf(client, 'bad', 'failed')
      const events = failed.TaskStates?.['task']?.Events ?? []
      assert.equal(events.find((event) => event.Type === 'Terminated')?.ExitCode, 3)
    },
  )

  await t.test(
    'program: the management token of --dev is the site administrator of /api/v2',
    async () => {
      const secret = (await readFile(join(directory, 'server/governance-token'), 'utf8')).trim()
      const known = await createClient({ address, token: secret }).v2.readAccount({})
      assert.equal(known.headers.get('content-type'), 'application/vnd.api+json')
      assert.equal(known.data.data.attributes['is-admin'], true)
      const stranger = createClient({ address, token: '00000000-0000-4000-8000-000000000000' })
      await assert.rejects(stranger.v2.readAccount({}), (thrown: unknown) => {
        assert.ok(thrown instanceof ApiError)
        assert.deepEqual([thrown.status, thrown.errors[0]?.title], [401, 'unauthorized'])
        return true
      })
    },
  )

  await t.test(
    'program: a second agent on the same data directory is refused with a sentence',
    async (own) => {
      await assert.rejects(
        startProgram(own, directory),
        /it ended with 1: .*(in use|locked|another)/is,
      )
    },
  )

  await t.test(
    'program: after SIGKILL the same job, allocation and process are there, and no event is lost',
    async () => {
      const first = program
      const job = shellJob('survivor', 'echo $$; exec sleep 300')
      await first.client.v1.registerJob({ body: { Job: job } })
      const before = await allocationOf(first.client, 'survivor', 'running')
      const pid = await until(
        'the process id',
        async () => Number(await logOf(directory, before.ID)) || undefined,
      )
      const { data: jobBefore } = await first.client.v1.readJob({
        params: { job_id: 'survivor' },
      })
      await first.kill('SIGKILL')
      assert.ok(await isRunning(pid), 'the task outlives the program')

      program = await startProgram(t, directory)
      const second = program
      const { data: jobAfter } = await second.client.v1.readJob({ params: { job_id: 'survivor' } })
      assert.deepEqual(jobAfter, jobBefore)
      const after = await allocationOf(second.client, 'survivor', 'running')
      assert.deepEqual([after.ID, after.CreateIndex], [before.ID, before.CreateIndex])
      assert.ok(await isRunning(pid), 'the task was taken over')
      for await (const line of second.client.events({ topics: ['Job:survivor'], index: 1 })) {
        const [event] = line.Events ?? []
        if (event === undefined) continue
        assert.deepEqual([event.Type, line.Index], ['JobRegistered', jobBefore.JobModifyIndex])
        break
      }
      await second.client.v1.stopJob({ params: { job_id: 'survivor' } })
      await allocationOf(second.client, 'survivor', 'complete')
      assert.equal(await isRunning(pid), false)
    },
  )

  await t.test(
    'program: SIGTERM answers what is parked, ends streams with a reason and exits with 0',
    async () => {
      const { index } = await program.client.v1.listJobs({})
      const parked = program.client.v1.listJobs({ query: { index, wait: '5m' } })
      const stream = await fetch(`${program.address}/v1/event/stream`)
      const text = stream.text()
      assert.equal(await program.kill('SIGTERM'), 0)
      const answered = await parked
      assert.equal(answered.status, 200)
      assert.match(await text, /"Closed":"the server is shutting down"/)
    },
  )
})

test('program: the reset file in its data directory allows another bootstrap, once', async (t) => {
  const directory = await temporaryDirectory(t)
  const { client } = await startProgram(t, directory, ['--acl'])
  const bootstrap = async () => (await client.v1.bootstrapAcl({ body: {} })).data
  const first = await bootstrap()
  const says = (text: RegExp) => (thrown: unknown) =>
    thrown instanceof ApiError && thrown.status === 400 && text.test(thrown.text)
  await assert.rejects(bootstrap, says(/^ACL bootstrap already done \(reset index: \d+\)$/))
  await writeFile(join(directory, 'acl-bootstrap-reset'), `${first.CreateIndex}\n`)
  assert.notEqual((await bootstrap()).SecretID, first.SecretID)
  await assert.rejects(bootstrap, says(/^Invalid bootstrap reset index/))
})
