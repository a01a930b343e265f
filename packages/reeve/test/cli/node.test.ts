import assert from 'node:assert/strict'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { endJob, runShellJob, shellTask } from '../build/cli-jobs.ts'
import { until } from '../build/until.ts'

const SCRIPT = 'exec sleep 1000'

test('node, eval and deployment', async (t) => {
  const reeve = await aCommandLine(t, ['--node-name', 'one'])
  const node = await until('the node', async () => {
    const { data } = await reeve.client.v1.listNodes({})
    return data.find(({ Status }) => Status === 'ready')
  })
  const short = node.ID.slice(0, 8)
  const update = { MinHealthyTime: 0, HealthyDeadline: 60e9, ProgressDeadline: 90e9 }
  await runShellJob(t, reeve.client, { id: 'web', script: SCRIPT, job: { Update: update } })

  await t.test('node status lists nodes', async () => {
    const said = await reeve.ok('node status')
    assert.match(said, /^ID +Name +Datacenter +Pool +Class +Address +Drain +Eligibility +Status\n/)
    assert.match(said, new RegExp(`\n${short} +one +dc1 +default .* eligible +ready\n$`))
    const none = ['node', 'status', '--filter', 'Status != "ready"']
    assert.equal(await reeve.ok(none), 'There are no nodes. "reeve agent --client" starts one.\n')
    assert.equal(await reeve.ok(['node', 'status', '-t', '{{ (index . 0).ID }}']), `${node.ID}\n`)
  })

  await t.test(
    'node status shows one by name, by the beginning of its id, and itself',
    async () => {
      for (const line of [
        'node status one',
        `node status ${short.slice(0, 5)}`,
        'node status --self',
      ]) {
        const said = await reeve.ok(line)
        assert.match(said, new RegExp(`^ID +=? ?${node.ID}\nName +=? ?one\n`))
        assert.match(said, /\nraw_exec +healthy/)
        assert.match(said, /\nCPU +20 MHz +\d+ MHz +\d+ %\n/)
        assert.match(said, /\nAllocations\n[^\n]+\n\w{8} +web +group/)
        assert.match(said, /Node registered/)
      }
      const more = await reeve.ok('node status --stats --verbose one')
      assert.match(more, /\nIn use on the machine\nCPU +=? ?\d/)
      assert.match(more, /\nAttributes\n/)
      const read: { ID: string } = JSON.parse(await reeve.ok('node status --json one'))
      assert.equal(read.ID, node.ID)
    },
  )

  await t.test('a node that is not there', async () => {
    assert.deepEqual(await reeve.run('node status nobody'), {
      code: 6,
      out: '',
      err:
        'reeve node status: There is no node "nobody".\n' +
        'For a list, run "reeve node status".\n',
    })
    assert.equal((await reeve.run('node eligibility --enable')).code, 2)
    assert.equal((await reeve.run('node eligibility --enable --self one')).code, 2)
    assert.equal((await reeve.run('node eligibility one')).code, 2)
  })

  await t.test('node eligibility keeps work away, and lets it in', async () => {
    assert.equal(
      await reeve.ok('node eligibility --disable one'),
      `Node ${short} (one) is ineligible: it takes no new allocations.\n`,
    )
    assert.match(await reeve.ok('node status'), / ineligible +ready\n$/)
    assert.equal(
      await reeve.ok('node eligibility --enable --self'),
      `Node ${short} (one) is eligible: it takes new allocations.\n`,
    )
  })

  await t.test('eval list and status tell what the scheduler did', async () => {
    const said = await reeve.ok('eval list --job web')
    assert.match(said, /^ID +Job +Triggered by +Priority +Status +Created\n/)
    assert.match(said, /\n\w{8} +web +job-register +50 +complete +\S+ ago\n/)
    const one = ['eval', 'list', '--filter', 'TriggeredBy == "job-register"', '--json']
    const [evaluation]: readonly { ID: string }[] = JSON.parse(await reeve.ok(one))
    assert.ok(evaluation !== undefined)
    const shown = await reeve.ok(`eval status --monitor ${evaluation.ID.slice(0, 9)}`)
    assert.match(shown, new RegExp(`^ID +=? ?${evaluation.ID}\n`))
    assert.match(shown, /\nStatus +=? ?complete\n/)
    assert.match(shown, /\nAllocations\n/)
    const cut = await reeve.run('eval list --count 1')
    assert.equal(cut.out.trim().split('\n').length, 2)
    assert.equal(cut.err, 'Only the newest 1: --count shows more.\n')
    assert.equal(await reeve.ok('eval list --status failed'), 'There are no such evaluations.\n')
  })

  await t.test('eval explain says why there is no room, and what would help', async () => {
    const task = { ...shellTask('main', SCRIPT), Resources: { CPU: 20, MemoryMB: 90_000_000 } }
    const { data } = await reeve.client.v1.registerJob({
      body: { Job: { ID: 'big', TaskGroups: [{ Name: 'group', Count: 1, Tasks: [task] }] } },
    })
    const id = data.EvalID
    const status = await reeve.run(`eval status --monitor ${id}`)
    assert.equal(status.code, 9)
    assert.match(status.out, /Group "group": 1 allocation could not be placed\.\n/)
    assert.match(status.out, new RegExp(`"reeve eval explain ${id.slice(0, 8)}"`))
    const said = await reeve.run(`eval explain ${id.slice(0, 8)}`)
    assert.equal(said.code, 9)
    assert.match(said.out, /Group "group": 0 of 1 placed, 1 not\.\n/)
    assert.match(said.out, / {2}Would be placed with:\n/)
    const byNode = await reeve.run(`eval explain --by-node --limit 5 ${id}`)
    assert.match(byNode.out, /\(one\):\n/)
    const read: { JobID: string } = JSON.parse((await reeve.run(`eval explain --json ${id}`)).out)
    assert.equal(read.JobID, 'big')
    await reeve.client.v1.stopJob({ params: { job_id: 'big' }, query: { purge: true } })
  })

  await t.test('eval delete waits for a paused broker', async () => {
    const ids = await reeve.ok(['eval', 'list', '-t', '{{ (index . 0).ID }}'])
    const refused = await reeve.run(`eval delete ${ids.trim()}`)
    assert.equal(refused.code, 1)
    assert.match(refused.err, /only while the broker is paused\.\nPause it with "reeve operator /)
    await reeve.ok('operator scheduler set-config --pause-eval-broker true')
    const deleted = await reeve.ok(`eval delete ${ids.trim().slice(0, 10)}`)
    assert.equal(deleted, 'Deleted 1 evaluation.\n')
    const all = ['eval', 'delete', '--filter', 'JobID == "nobody"']
    assert.equal((await reeve.run(all)).out, 'Deleted 0 evaluations.\n')
    await reeve.ok('operator scheduler set-config --pause-eval-broker false')
    assert.equal((await reeve.run('eval delete')).code, 2)
  })

  await t.test('deployment list and status', async () => {
    await until('the deployment to succeed', async () => {
      const said = await reeve.ok('deployment list --job web')
      return / successful /.test(said) || undefined
    })
    const id = (
      await reeve.ok(['deployment', 'list', '--job', 'web', '-t', '{{ (index . 0).ID }}'])
    ).trim()
    const said = await reeve.ok(`deployment status ${id.slice(0, 8)}`)
    assert.match(said, new RegExp(`^ID +=? ?${id}\n`))
    assert.match(said, /\nGroup +Promoted +Desired +Canaries +Placed +Healthy +Unhealthy/)
    assert.match(said, /\ngroup +1 +1 +1 +0\n/)
    assert.equal((await reeve.run(`deployment status --watch ${id}`)).code, 0)
    const none = ['deployment', 'list', '--filter', 'Status == "paused"']
    assert.equal(await reeve.ok(none), 'There are no such deployments.\n')
    const over = await reeve.run(`deployment fail ${id}`)
    assert.equal(over.code, 1)
    assert.match(over.err, /^reeve deployment fail: .*terminal/)
    const unblocked = await reeve.run(`deployment unblock ${id}`)
    assert.equal(unblocked.code, 1)
    assert.match(unblocked.err, /^reeve deployment unblock: .*terminal/)
  })

  await t.test('deployment pause, resume and promote a canary, and watch it', async () => {
    const Job = {
      ID: 'web',
      Update: { ...update, Canary: 1, MaxParallel: 1 },
      TaskGroups: [{ Name: 'group', Count: 1, Tasks: [shellTask('main', `${SCRIPT}0`)] }],
    }
    await reeve.client.v1.registerJob({ body: { Job } })
    const running = await until('the deployment', async () => {
      const { data } = await reeve.client.v1.listDeployments({ query: { reverse: true } })
      return data.find(({ JobVersion, Status }) => JobVersion === 1 && Status === 'running')
    })
    const name = `Deployment ${running.ID.slice(0, 8)} (web, version 1)`
    assert.equal(await reeve.ok(`deployment pause ${running.ID}`), `${name} is paused.\n`)
    assert.match(await reeve.ok('deployment list --job web'), / paused /)
    const resumed = await reeve.ok(`deployment resume --detach ${running.ID}`)
    assert.equal(resumed, `${name} is resumed.\n`)
    await until('a healthy canary', async () => {
      const params = { deployment_id: running.ID }
      const { data } = await reeve.client.v1.readDeployment({ params })
      return (data.TaskGroups['group']?.HealthyAllocs ?? 0) > 0 || undefined
    })
    const promoted = await reeve.run(`deployment promote --group group ${running.ID}`)
    assert.equal(promoted.code, 0, promoted.err)
    assert.ok(promoted.out.startsWith(`${name} is promoted.\n`))
    assert.match(promoted.out, /is successful/)
  })

  await t.test('node drain watches until nothing is left, and gives the node back', async () => {
    assert.equal((await reeve.run('node drain one')).code, 2)
    assert.equal((await reeve.run('node drain --enable --disable one')).code, 2)
    assert.equal((await reeve.run('node drain --enable --deadline soon one')).code, 2)
    assert.equal((await reeve.run('node drain --enable --force --no-deadline one')).code, 2)
    assert.match(await reeve.ok('node drain --monitor one'), /is not draining\.\n$/)
    const said = await reeve.ok([
      'node',
      'drain',
      '--enable',
      '--deadline',
      '30s',
      '-m',
      'why',
      'one',
    ])
    assert.match(said, /^Node \w{8} \(one\) is draining and takes no new allocations\.\n/)
    assert.match(said, /\nThe drain of node \w{8} \(one\) is complete\.\n$/)
    const shown = await reeve.ok('node status one')
    assert.match(shown, /\nEligibility +=? ?ineligible\n/)
    assert.match(shown, /\nLast drain +=? ?complete \S+ ago\nDrain meta +=? ?message=why\n/)
    assert.equal(
      await reeve.ok('node drain --disable --self'),
      `Node ${short} (one) is no longer draining and takes new allocations.\n`,
    )
  })

  await t.test('node drain can be left, watched again and canceled', async () => {
    await until('the job to be back', async () => {
      const params = { job_id: 'web' }
      const { data } = await reeve.client.v1.listJobAllocations({ params })
      return data.some(({ ClientStatus }) => ClientStatus === 'running') || undefined
    })
    // Long enough to be in the way of the drain, and ended after the test all the same.
    const stubborn = {
      ...shellTask('main', 'trap "" TERM INT; while true; do sleep 0.2; done'),
      KillTimeout: 3e9,
    }
    const TaskGroups = [{ Name: 'group', Tasks: [stubborn] }]
    const Job = { ID: 'everywhere', Type: 'system', TaskGroups }
    await reeve.client.v1.registerJob({ body: { Job } })
    await until('the system job to run', async () => {
      const params = { job_id: 'everywhere' }
      const { data } = await reeve.client.v1.listJobAllocations({ params })
      return data.some(({ ClientStatus }) => ClientStatus === 'running') || undefined
    })
    const leaving = new AbortController()
    const ended = await reeve.run('node drain --enable --no-deadline one', {
      signal: leaving.signal,
      onWritten: () => leaving.abort(),
    })
    assert.equal(ended.code, 130)
    assert.equal(
      ended.err,
      `The drain continues. To watch it again:\n\n  reeve node drain --monitor ${short}\n`,
    )
    const left = await reeve.run('node drain --enable --no-deadline --detach one')
    assert.equal(left.code, 0)
    assert.equal(left.err, `Watch it with "reeve node drain --monitor ${short}".\n`)
    const watching = reeve.run('node drain --monitor one')
    const canceled = await reeve.ok('node drain --disable --keep-ineligible one')
    assert.match(canceled, /still takes no new allocations\.\n$/)
    const { code, err } = await watching
    assert.equal(code, 1)
    assert.equal(err, `The drain of node ${short} (one) was canceled.\n`)
    await endJob(reeve.client, 'everywhere')
  })

  await t.test('join tokens and revocations that are not there', async () => {
    const missing = await reeve.run('node join-token revoke 00')
    assert.equal(missing.code, 6)
    assert.match(missing.err, /There is no join token "00"[^]*reeve node join-token list/)
    const revoked = await reeve.run('node unrevoke 00')
    assert.equal(revoked.code, 6)
    assert.match(revoked.err, /There is no revoked node "00"[^]*reeve node revocations/)
    assert.equal(await reeve.ok('node revocations'), 'No node is revoked.\n')
    assert.equal(
      await reeve.ok('node join-token list'),
      'There are no join tokens. "reeve node join-token create" creates one.\n',
    )
    const { code, err } = await reeve.run('node join-token create --ttl 1s')
    assert.deepEqual([code, /TTL must be a duration from 1m to 24h/.test(err)], [1, true])
    const created = await reeve.ok('node join-token create --json')
    const { SecretID }: { SecretID: string } = JSON.parse(created)
    assert.match(SecretID, /^\S{36}$/)
    assert.match(await reeve.ok('node join-token list --verbose'), /\n\S{36} +any +any /)
  })

  await t.test('node purge forgets a node', async () => {
    await endJob(reeve.client, 'web')
    const { code, out, err } = await reeve.run('node purge one')
    assert.equal(code, 0)
    assert.equal(out, `Node ${short} (one) is purged; its jobs are evaluated again.\n`)
    assert.match(err, /^Its agent still runs/)
  })

  await t.test('answers the same as a process of its own', async () => {
    const ended = await reeve.spawn('node status nobody')
    assert.equal(ended.code, 6)
    assert.match(ended.err, /^reeve node status: There is no node "nobody"\.\n/)
  })
})
