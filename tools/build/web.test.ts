import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { buildWeb, isWebUpToDate } from './web.ts'

/** A checkout with a stand-in for the builder: it writes one page, or fails. */
function aCheckout(t: TestContext, builder: string | undefined): string {
  const root = mkdtempSync(join(tmpdir(), 'reeve-build-web-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const write = (name: string, text: string) => {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  write('packages/web/src/main.tsx', 'the source')
  if (builder !== undefined) write('node_modules/vite/bin/vite.js', builder)
  return root
}

const WRITES = `const fs = require('node:fs')
const folder = process.argv[process.argv.indexOf('--outDir') + 1]
fs.mkdirSync(folder, { recursive: true })
fs.writeFileSync(folder + '/index.html', 'a page')`

test('the web UI is built aside and put in place, and known to be of these sources', async (t) => {
  const root = aCheckout(t, WRITES)
  assert.equal(isWebUpToDate(root), false)
  assert.equal(await buildWeb(root, { report: (text) => assert.fail(text) }), true)
  assert.equal(isWebUpToDate(root), true)
  const later = Date.now() / 1_000 + 60
  utimesSync(join(root, 'packages/web/src/main.tsx'), later, later)
  assert.equal(isWebUpToDate(root), false)
})

const FAILURES = [
  {
    name: 'the builder is not installed',
    builder: undefined,
    said: /is not installed\. Everything/,
  },
  {
    name: 'the build fails',
    builder: 'console.error("no such module"); process.exit(1)',
    said: /could not be built[^]*no such module/,
  },
]

for (const { name, builder, said } of FAILURES)
  test(`when ${name} the build says what is missing`, async (t) => {
    const sentences: string[] = []
    const root = aCheckout(t, builder)
    assert.equal(await buildWeb(root, { report: (text) => sentences.push(text) }), false)
    assert.match(sentences.join('\n'), said)
    assert.equal(isWebUpToDate(root), false)
  })
