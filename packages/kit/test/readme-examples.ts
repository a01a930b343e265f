import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import * as path from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Inside node_modules, so that examples can import packages by name. */
const CACHE_DIRECTORY = path.join(import.meta.dirname, '../../../node_modules/.cache/reeve')

/**
 * Runs each TypeScript example of a README as a module below `directory`. Its output must equal the
 * comments after `console.log` calls and directly below the code.
 */
export function testExamples(readme: string, directory = (): string => CACHE_DIRECTORY): void {
  const blocks = [...fs.readFileSync(readme, 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm)]
  test(`${title(readme)}: the README has examples`, () => assert.ok(blocks.length > 0))
  for (const [at, [, code = '']] of blocks.entries())
    test(`${title(readme)}: example ${at + 1} prints what its comments say`, async (context) => {
      const printed: string[] = []
      context.mock.method(console, 'log', (...values: readonly unknown[]) => {
        printed.push(...values.map(String).join(' ').split('\n'))
      })
      await runModule(code, directory())
      context.mock.restoreAll()
      assert.deepEqual(printed, expectedLines(code))
    })
}

function title(readme: string): string {
  return path.basename(path.dirname(readme))
}

/**
 * Expected output: comments after calls and comments directly below code. Other comments are
 * explanations.
 */
function expectedLines(code: string): readonly string[] {
  const wanted: string[] = []
  let above = ''
  for (const line of code.split('\n')) {
    const text =
      /console\.log\(.*\) \/\/ (.*)$/.exec(line)?.[1] ??
      (above.trim() !== '' ? /^\/\/ ?(.*)$/.exec(line)?.[1] : undefined)
    if (text !== undefined) wanted.push(text)
    above = text === undefined && line.startsWith('//') ? '' : line
  }
  return wanted
}

async function runModule(code: string, directory: string): Promise<void> {
  fs.mkdirSync(directory, { recursive: true })
  const folder = fs.mkdtempSync(path.join(directory, 'example-'))
  try {
    const file = path.join(folder, 'example.mjs')
    // The runtime does not strip types inside node_modules.
    fs.writeFileSync(file, stripTypeScriptTypes(code))
    await import(pathToFileURL(file).href)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}
