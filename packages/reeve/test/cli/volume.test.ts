import assert from 'node:assert/strict'
import { access, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'

async function nodeId(reeve: CommandLineBench): Promise<string> {
  const [node] = (await reeve.client.v1.listNodes()).data
  assert.ok(node !== undefined, 'the development agent is a node')
  return node.ID
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

/** What a template prints of a volume. */
async function field(reeve: CommandLineBench, name: string, volume: string): Promise<string> {
  return (await reeve.ok(['volume', 'show', '-t', `{{ .${name} }}`, volume])).trim()
}

test('dynamic host volumes on the command line', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--node-name', 'one'])

  await t.test('volume create: a volume that a job mounts, and that is then kept', async () => {
    await reeve.ok('volume init')
    assert.match(await reeve.ok('volume create volume.hcl'), /can mount it\.\n$/)
    const path = await field(reeve, 'HostPath', 'shop-data')
    assert.equal((await stat(path)).mode & 0o777, 0o750)
    const group = 'volume "data" {\n type = "host"\n source = "shop-data"\n}'
    await reeve.file('web.hcl', aJobText({ id: 'web', group }))
    const { code, out, err } = await reeve.run('job run web.hcl')
    assert.equal(code, EXIT_CODES.ok, out + err)
    assert.match(
      await reeve.ok('volume show --verbose shop-data'),
      /\nAllocations\n.*\n\S{36} +web /,
    )
    const refused = await reeve.run('volume delete --yes shop-data')
    assert.equal(refused.code, EXIT_CODES.conflict, refused.err)
    assert.match(refused.err, /mounted by allocation/)
    await reeve.run('job stop --yes web')
    assert.ok(await isThere(path))
  })

  await t.test('volume list: filters, full IDs and all namespaces', async () => {
    const id = await field(reeve, 'ID', 'shop-data')
    assert.match(await reeve.ok('volume list --verbose --node one'), new RegExp(`\n${id} `))
    assert.match(await reeve.ok('volume ls --node-pool default'), /\n\w{8} +shop-data /)
    assert.match(await reeve.ok('volume list --namespace *'), /\n\w{8} +default +shop-data /)
    for (const filter of ['--node-pool other', '--plugin other'])
      assert.match(await reeve.ok(`volume list ${filter}`), /^There are no volumes\./)
    const missing = await reeve.run('volume list --node two')
    assert.equal(missing.code, EXIT_CODES.missing, missing.err)
    assert.deepEqual(JSON.parse(await reeve.ok('volume list --plugin other --json')), [])
  })

  await t.test('volume create: what --json shows is accepted, and updates the volume', async () => {
    const shown = await reeve.ok('volume show --json shop-data')
    const changed = shown.replace(
      '"RequestedCapacityMaxBytes": 0',
      '"RequestedCapacityMaxBytes": 9',
    )
    const out = await reeve.ok('volume create -', { input: changed })
    assert.match(out, /^Volume "shop-data" \(\w{8}\) is updated: /)
    assert.equal(await field(reeve, 'RequestedCapacityMaxBytes', 'shop-data'), '9')
  })

  await t.test('volume register: a directory, which outlives its volume', async () => {
    const path = join(reeve.directory, 'srv')
    await mkdir(path)
    const example = await reeve.ok('volume init --register -')
    const text = example
      .replace(/^node_id.*$/m, `node_id = "${await nodeId(reeve)}"`)
      .replace('/srv/shop-data', path)
      .replace('"shop-data"', '"registered"')
    await reeve.file('registered.hcl', text)
    assert.match(await reeve.ok('volume register registered.hcl'), /^Volume "registered" /)
    assert.match(await reeve.ok('volume list'), /\n\w{8} +registered +registered +default /)
    const id = await field(reeve, 'ID', 'registered')
    await reeve.ok(`volume delete --force --yes ${id.slice(0, 6)}`)
    assert.ok(await isThere(path))
    const gone = await reeve.run('volume show registered')
    assert.equal(gone.code, EXIT_CODES.missing)
    assert.match(gone.err, /There is no volume "registered" in namespace "default"\./)
  })

  await t.test('volume create --detach: in the namespace of --namespace', async () => {
    await reeve.ok('namespace apply shop')
    const input = 'name = "other"\n'
    const line = 'volume create --detach --json --namespace shop -'
    const { Namespace, ID } = JSON.parse(await reeve.ok(line, { input }))
    assert.equal(Namespace, 'shop')
    assert.equal((await reeve.run('volume show other')).code, EXIT_CODES.missing)
    await reeve.ok(`volume delete --yes --namespace shop ${ID}`)
  })

  await t.test('volume init: an existing file is kept without --force', async () => {
    await writeFile(join(reeve.directory, 'kept.hcl'), 'mine')
    assert.equal((await reeve.run('volume init kept.hcl')).code, EXIT_CODES.failed)
    await reeve.ok('volume init --force kept.hcl')
  })

  await t.test('volume create: mistakes are shown with their lines', async () => {
    const { code, err } = await reeve.run('volume create -', { input: 'nam = "data"\n' })
    assert.equal(code, EXIT_CODES.failed)
    assert.match(err, /<stdin>:1,1-4: Unsupported argument; .*"name"\?\n +1 \| nam = "data"\n/)
    const unplaced =
      'name = "x"\nconstraint {\n attribute = "${attr.kernel.name}"\n value = "plan9"\n}\n'
    const refused = await reeve.run('volume create -', { input: unplaced })
    assert.equal(refused.code, EXIT_CODES.failed)
    assert.match(refused.err, /volume could not be placed: nodes refused: /)
  })
})
