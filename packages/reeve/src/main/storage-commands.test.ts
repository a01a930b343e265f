import assert from 'node:assert/strict'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { changeByte, logFile } from '../../test/build/data-directory.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aNamespace, write } from '../../test/build/store.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { processHost } from '../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { Store } from '../state/index.ts'
import { openEmbeddedEngine } from '../storage/index.ts'
import { runCommandLine } from './commands.ts'

async function openStore(data: string): Promise<Store> {
  const engine = await openEmbeddedEngine(join(data, 'server', 'storage'))
  return await Store.open({ engine, clock: new SimulatedClock() })
}

/** A server's data directory with rows that only the log holds. */
async function aDataDirectory(t: TestContext): Promise<string> {
  const data = await temporaryDirectory(t)
  await mkdir(join(data, 'server'))
  await writeFile(join(data, 'server', 'sealing-key'), 'key')
  const store = await openStore(data)
  await store.checkpoint()
  for (let i = 0; i < 5; i++) await write(store, [aNamespace(`n${i}`)]).durable
  store.abortPending(new Fault('test', 'as after a crash'))
  await store.close()
  return data
}

async function run(...args: readonly string[]) {
  const told = { out: '', err: '' }
  const code = await runCommandLine(['operator', 'storage', ...args], {
    ...processHost(),
    out: (text) => void (told.out += text),
    err: (text) => void (told.err += text),
  })
  return { code, ...told }
}

test('storage check: a sound directory exits with 0', async (t) => {
  const data = await aDataDirectory(t)
  const { code, out } = await run('check', '--data-dir', data)
  assert.match(out, /^sound: \d+ files of .*, last index 5\n/)
  assert.equal(code, 0)
})

test('storage check and salvage: damage exits with 1, and what is readable is saved', async (t) => {
  const data = await aDataDirectory(t)
  const file = await logFile(join(data, 'server', 'storage'), -1)
  await changeByte(file, (await readFile(file)).indexOf('"n2"') + 1)
  const checked = await run('check', '--data-dir', data)
  assert.equal(checked.code, 1)
  assert.match(checked.out, /damaged: the file \d+\.log at byte \d+: a checksum does not match\n/)
  assert.match(checked.err, /operator storage salvage --data-dir/)
  const to = join(await temporaryDirectory(t), 'new')
  const salvaged = await run('salvage', '--data-dir', data, '--to', to)
  assert.equal(salvaged.code, 0, salvaged.err)
  assert.match(salvaged.out, /lost: log entry 3 is missing\n/)
  assert.match(salvaged.out, /Salvaged 4 rows .* up to index 5 into .*2 losses are named above/)
  const store = await openStore(to)
  assert.deepEqual([...store.tables.namespaces.keys()], ['n0', 'n1', 'n3', 'n4'])
  await store.close()
  assert.equal(await readFile(join(to, 'server', 'sealing-key'), 'utf8'), 'key')
})

test('storage salvage: a target that is not empty is refused, and nothing is changed', async (t) => {
  const [data, other] = [await aDataDirectory(t), await aDataDirectory(t)]
  const { code, err } = await run('salvage', '--data-dir', data, '--to', other)
  assert.equal(code, 1)
  assert.match(err, /is not empty\. Nothing was changed/)
})

test('storage check: a directory without a server is refused', async (t) => {
  const data = await temporaryDirectory(t)
  const { code, err } = await run('check', '--data-dir', data)
  assert.equal(code, 1)
  assert.match(err, /holds no data of a server/)
  await assert.rejects(stat(join(data, 'server')), { code: 'ENOENT' })
})
