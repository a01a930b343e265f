import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { openEmbeddedEngine } from './open-embedded-engine.ts'
import { isOlder } from './data-directory.ts'

const cases = [
  ['1.2.3', '1.2.4', true],
  ['1.9.0', '1.10.0', true],
  ['1.10.0', '1.9.0', false],
  ['2.0.0', '1.9.9', false],
  ['1.2.3', '1.2.3', false],
  ['1.2.3-rc.1', '1.2.3', true],
  ['1.2.3', '1.2.3-rc.1', false],
  ['1.2', '1.2.1', true],
] as const
for (const [version, than, wanted] of cases)
  test(`version: ${version} is ${wanted ? '' : 'not '}older than ${than}`, () => {
    assert.equal(isOlder(version, than), wanted)
  })

test('version: a downgrade within one storage format is a warning, once', async (t) => {
  const directory = await temporaryDirectory(t)
  const warnings: string[] = []
  const warn = (_fields: object, message: string): void => void warnings.push(message)
  const start = async (version: string): Promise<void> => {
    const engine = await openEmbeddedEngine(directory, { version, storageLog: { warn } })
    await engine.close()
  }
  await start('0.2.0')
  await start('0.2.0')
  await start('0.3.0')
  assert.deepEqual(warnings, [])
  await start('0.2.0')
  assert.match(warnings.join(), /last written by Reeve 0\.3\.0, and this is the older 0\.2\.0/)
  await start('0.2.0')
  assert.equal(warnings.length, 1)
})
