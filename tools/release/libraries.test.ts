import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { testExamples } from '@reeve/kit/test/readme-examples.ts'
import { REPOSITORY_ROOT as root } from '../source/finding.ts'
import { LIBRARIES, libraryPackages } from './libraries.ts'

const VERSION = '9.8.7'
const NPM_MS_MAX = 120_000

/** Outside packages that the libraries need, found in the checkout: nothing is fetched. */
function outsideDependencies(): string[] {
  const found = new Set<string>()
  const add = (folder: string): void => {
    const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(
      fs.readFileSync(join(folder, 'package.json'), 'utf8'),
    )
    for (const name of Object.keys(dependencies).filter((one) => !one.startsWith('@reeve/'))) {
      const place = join(root, 'node_modules', name)
      if (found.has(place)) continue
      found.add(place)
      add(place)
    }
  }
  for (const name of LIBRARIES) add(join(root, 'packages', name))
  return [...found]
}

describe('libraries as npm packages', () => {
  let folder = ''
  let work = ''
  before(() => {
    const cache = join(root, 'node_modules/.cache/reeve')
    fs.mkdirSync(cache, { recursive: true })
    work = fs.mkdtempSync(join(cache, 'libraries-'))
    folder = fs.mkdtempSync(join(tmpdir(), 'reeve-libraries-'))
    const packages = libraryPackages(root, work, { version: VERSION, epoch: 1_795_000_000 })
    for (const { file, data } of packages) fs.writeFileSync(join(folder, file), data)
    install(packages.map(({ file }) => file))
  })
  after(() => {
    for (const one of [work, folder]) if (one !== '') fs.rmSync(one, { recursive: true })
  })

  /** In an empty directory, offline: a dependency of another version would have to be fetched. */
  function install(tarballs: readonly string[]): void {
    fs.writeFileSync(join(folder, 'package.json'), '{"name":"consumer","type":"module"}\n')
    const options = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund']
    const files = tarballs.map((file) => `./${file}`)
    execFileSync('npm', ['install', ...options, ...outsideDependencies(), ...files], {
      cwd: folder,
      encoding: 'utf8',
      timeout: NPM_MS_MAX,
      stdio: 'pipe',
    })
  }

  function runModule(name: string, text: string): string {
    const file = join(folder, name)
    fs.writeFileSync(file, text)
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    return stdout
  }

  test('each holds compiled code, README and licence, and no tests or sources', () => {
    for (const name of LIBRARIES) {
      const place = join(folder, 'node_modules/@reeve', name)
      const files = fs.readdirSync(place, { recursive: true, encoding: 'utf8' })
      for (const wanted of ['README.md', 'LICENSE', 'package.json', 'dist'])
        assert.ok(files.includes(wanted), `${name} has ${wanted}`)
      const odd = files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file))
      assert.deepEqual(odd, [], name)
    }
  })

  test('every entry point can be imported', () => {
    const imports = LIBRARIES.flatMap((name) => {
      const { exports }: { exports: Record<string, unknown> } = JSON.parse(
        fs.readFileSync(join(folder, 'node_modules/@reeve', name, 'package.json'), 'utf8'),
      )
      return Object.keys(exports)
        .filter((entry) => !entry.includes('*'))
        .map((entry) => `@reeve/${name}${entry.slice(1)}`)
    })
    assert.ok(imports.length > LIBRARIES.length)
    const names = ['@reeve/kit/duration', '@reeve/kit/yaml/index', ...imports]
    const text = `for (const name of ${JSON.stringify(names)}) {
  const count = Object.keys(await import(name)).length
  if (count === 0) throw new Error(name + ' exports nothing')
}
console.log('imported')
`
    assert.equal(runModule('import-each.mjs', text), 'imported\n')
  })

  for (const name of ['hcl', 'go-template', 'rego', 'native-policy', 'contract'])
    testExamples(join(root, 'packages', name, 'README.md'), () => folder)

  test('the client can be made from the packages', () => {
    const text = `import { createClient } from '@reeve/sdk'
const client = createClient({ address: 'http://127.0.0.1:1' })
console.log(typeof client.v1.listJobs)
`
    assert.equal(runModule('use-client.mjs', text), 'function\n')
  })

  test('a consumer is checked against the declarations', () => {
    const text = `import { createClient } from '@reeve/sdk'
import { parseHcl } from '@reeve/hcl'
const { data } = await createClient({ address: 'http://127.0.0.1:1' }).v1.listJobs({})
export const ids: string[] = data.map(({ ID }) => ID)
export const parsed = parseHcl
// @ts-expect-error
export const numbers: number[] = data.map(({ ID }) => ID)
`
    fs.writeFileSync(join(folder, 'consumer.mts'), text)
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const options = ['--noEmit', '--strict', '--target', 'es2024', '--lib', 'es2024,dom']
    for (const kind of ['nodenext', 'bundler']) {
      const module = kind === 'nodenext' ? 'nodenext' : 'esnext'
      const { status, stdout } = spawnSync(
        process.execPath,
        [compiler, ...options, '--module', module, '--moduleResolution', kind, 'consumer.mts'],
        { cwd: folder, encoding: 'utf8' },
      )
      assert.equal(status, 0, stdout)
    }
  })
})
