import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { apiDocument } from '../packages/reeve/src/main/api-document.ts'
import { loadConfig } from '../packages/reeve/src/main/config/load-config.ts'
import { readVersion } from '../packages/reeve/src/main/version.ts'

/**
 * Writes `openapi.json` from the routes that exist; `--check` fails when the committed file is
 * another one.
 */
const FILE = fileURLToPath(new URL('../openapi.json', import.meta.url))

async function main(): Promise<void> {
  const loaded = loadConfig({
    flags: new Map([['dev', true]]),
    environment: {},
    found: { files: [], problems: [] },
    facts: {
      hostName: 'localhost',
      address: undefined,
      workingDirectory: '/',
      temporaryDirectory: '/nonexistent',
      isErrorTerminal: false,
    },
  })
  if (!loaded.ok)
    throw new Error(`the defaults are no configuration: ${JSON.stringify(loaded.error)}`)
  const document = await apiDocument(loaded.value.config, readVersion())
  const text = `${JSON.stringify(document, null, 2)}\n`
  if (!process.argv.includes('--check')) {
    await writeFile(FILE, text)
    return
  }
  const committed = await readFile(FILE, 'utf8').catch(() => '')
  if (committed === text) return
  console.error('openapi.json is not what the routes say; run: node tools/openapi.ts')
  process.exitCode = 1
}

await main()
