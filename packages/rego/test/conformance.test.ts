import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { haveCases, readCases } from './cases.ts'
import { failingNames, FAILING_FILE, isCounted } from './failing.ts'

const README = join(import.meta.dirname, '../README.md')

/** Of the cases that do not need the network; the list of the others only shrinks. */
const RATE_MIN = { 0: 0.99, 1: 0.99 } as const

for (const version of [0, 1] as const)
  test(`rego: the conformance cases of version ${version} give what they should`, (context) => {
    if (!haveCases()) {
      context.diagnostic('no ../shared/cases/rego beside the repository: nothing was checked')
      return
    }
    const cases = readCases(version)
    const failing = failingNames(cases, version)
    for (const line of tableOf(cases, failing, version)) context.diagnostic(line)
    const figure = `${cases.length - failing.length} of ${cases.length}`
    assert.ok(readFileSync(README, 'utf8').includes(figure), `the README must say ${figure}`)
    const known = new Set(
      existsSync(FAILING_FILE) ? readFileSync(FAILING_FILE, 'utf8').split('\n') : [],
    )
    const fresh = failing.filter((name) => !known.has(name))
    assert.deepEqual(fresh, [], 'cases that are not on the list of failing ones')
    const mended = [...known].filter(
      (name) => name.startsWith(`v${version}/`) && !failing.includes(name),
    )
    assert.deepEqual(mended, [], 'cases to take off the list: they pass')
    const counted = cases.filter(isCounted)
    const failed = failing.filter((name) => counted.some((item) => nameOf(item, version) === name))
    assert.ok(1 - failed.length / counted.length >= RATE_MIN[version], 'the rate to keep')
  })

function nameOf(item: { readonly folder: string; readonly note: string }, version: 0 | 1): string {
  return `v${version}/${item.folder}/${item.note}`
}

/** `folder passed/all` of the folders where something fails, and of all together. */
function tableOf(
  cases: ReturnType<typeof readCases>,
  failing: readonly string[],
  version: 0 | 1,
): readonly string[] {
  const failed = new Set(failing)
  const lines: string[] = []
  for (const [folder, all] of Map.groupBy(cases, (item) => item.folder)) {
    const bad = all.filter((item) => failed.has(nameOf(item, version))).length
    if (bad > 0) lines.push(`v${version} ${folder} ${all.length - bad}/${all.length}`)
  }
  return [...lines, `v${version} all ${cases.length - failed.size}/${cases.length}`]
}
