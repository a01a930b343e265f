import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from './program-process.ts'

test('program: a node lends its volumes, and keeps secrets in memory, as its file says', async (t) => {
  const directory = await temporaryDirectory(t)
  const lent = join(directory, 'lent')
  await mkdir(lent)
  // Whoever the task is, it may write there.
  await chmod(lent, 0o777)
  const file = join(directory, 'node.hcl')
  const volume = `host_volume "lent" {\n path = "${lent}"\n }`
  const only = `host_volume "only" {\n path = "/etc"\n read_only = true\n }`
  await writeFile(
    file,
    `client {\n secrets_in_memory = true\n ${volume}\n ${only}\n}
     plugin "exec" {\n config {\n default_user = "daemon"\n }\n}`,
  )
  const { client } = await startProgram(t, join(directory, 'data'), ['--config', file])
  const node = await until('the node', async () => {
    const { data } = await client.v1.listNodes({})
    return data[0]
  })
  const { data: known } = await client.v1.readNode({ params: { node_id: node.ID } })
  assert.deepEqual(known.HostVolumes, {
    lent: { Name: 'lent', Path: lent, ReadOnly: false, ID: '' },
    only: { Name: 'only', Path: '/etc', ReadOnly: true, ID: '' },
  })
  if (known.Drivers['exec']?.Healthy !== true) {
    t.diagnostic('tasks are not isolated here, so no volume can be mounted')
    return
  }
  const script =
    'id -un > /lent/who; test -e /only/passwd && ! touch /only/x 2>/dev/null && ' +
    'echo s > /secrets/s && grep " /secrets " /proc/self/mountinfo > /lent/mounts; sleep 300'
  const mount = (Volume: string, ReadOnly: boolean) => ({
    Volume,
    Destination: `/${Volume}`,
    ReadOnly,
    PropagationMode: 'private',
  })
  const Tasks = [
    {
      Name: 'task',
      Driver: 'exec',
      Config: { command: '/bin/sh', args: ['-c', script] },
      VolumeMounts: [mount('lent', false), mount('only', true)],
    },
  ]
  const Volumes = {
    lent: { Name: 'lent', Type: 'host', Source: 'lent' },
    only: { Name: 'only', Type: 'host', Source: 'only', ReadOnly: true },
  }
  const Job = { ID: 'lent', TaskGroups: [{ Name: 'group', Tasks, Volumes }] }
  await client.v1.registerJob({ body: { Job } })
  const mounts = await until('the task to write', async () => {
    const text = await readFile(join(lent, 'mounts'), 'utf8').catch(() => '')
    return text === '' ? undefined : text
  })
  assert.match(mounts, /tmpfs/)
  assert.equal(await readFile(join(lent, 'who'), 'utf8'), 'daemon\n')
  await client.v1.stopJob({ params: { job_id: 'lent' }, query: { purge: true } })
  await until('the memory to be given back', async () => {
    await client.v1.collectGarbage({})
    const table = await readFile('/proc/self/mountinfo', 'utf8')
    return table.includes(directory) ? undefined : true
  })
})
