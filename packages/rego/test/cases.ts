import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml, type YamlValue } from '@reeve/kit/yaml/index.ts'

/** One conformance case, as its file gives it. */
export interface RegoCase {
  readonly folder: string
  readonly note: string
  readonly query: string
  readonly modules: readonly string[]
  readonly fields: Readonly<Record<string, YamlValue>>
}

/**
 * The cases are read from a folder beside the repository and never copied. `REGO_CASES` names
 * another folder, for a checkout that has no such neighbour.
 */
const CASES_ROOT =
  process.env['REGO_CASES'] ?? join(import.meta.dirname, '../../../../shared/cases/rego')

export function haveCases(): boolean {
  return existsSync(CASES_ROOT)
}

export function readCases(version: 0 | 1): readonly RegoCase[] {
  const root = join(CASES_ROOT, `v${version}`)
  return readdirSync(root)
    .toSorted()
    .flatMap((folder) =>
      readdirSync(join(root, folder))
        .toSorted()
        .flatMap((file) => readFile(folder, join(root, folder, file))),
    )
}

function readFile(folder: string, path: string): readonly RegoCase[] {
  const yaml = parseYaml(readFileSync(path, 'utf8'))
  if (!yaml.ok) throw new Error(`${path}: ${yaml.error}`)
  const cases = recordOf(yaml.value)['cases']
  return listOf(cases).map((item) => {
    const fields = recordOf(item)
    return {
      folder,
      note: textOf(fields['note']),
      query: textOf(fields['query']),
      modules: listOf(fields['modules']).map(textOf),
      fields,
    }
  })
}

export function textOf(value: YamlValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

export function listOf(value: YamlValue | undefined): readonly YamlValue[] {
  return Array.isArray(value) ? value : []
}

function recordOf(value: YamlValue | undefined): Readonly<Record<string, YamlValue>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  // Lists have been ruled out; what is left of the union is a record.
  return value as Readonly<Record<string, YamlValue>>
}
