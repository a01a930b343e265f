import {
  BUILTINS as NATIVE_BUILTINS,
  STANDARD_IMPORTS,
  standardImport,
  typeOf,
  type Value,
} from '@reeve/native-policy'
import { BUILTINS as OPA_BUILTINS, type Builtin } from '@reeve/rego'
import { code, page, table, type Pages } from './page.ts'

/** The functions of each policy language. */
export function policyLanguagePages(): Pages {
  return new Map([
    ['docs/reference/native-policy.md', nativePage()],
    ['docs/reference/opa-builtins.md', opaPage()],
  ])
}

const SETTINGS = {
  version: '0.0.0',
  time: { nowNs: 0n, zone: 'UTC', offsetSeconds: () => 0 },
}

function nativePage(): string {
  const parts = [...STANDARD_IMPORTS].toSorted().flatMap((path) => {
    const members = standardImport(path, SETTINGS)
    if (members === undefined) throw new Error(`no import ${path}`)
    const names = [...members.keys()].map(String).toSorted()
    const rows = names.map((name) => memberRow(name, members.get(name) ?? null))
    return [`### ${path}`, table(['Member', 'Kind', 'Arguments'], rows)]
  })
  const builtins = [...NATIVE_BUILTINS]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { arity }]) => [code(name), countText(arity)])
  return page('Native policy language', [
    '[Write and test policies](../how-to/write-and-test-policies.md) explains the language with ' +
      'examples. This page lists every function and import.',
    '## Functions',
    'Functions of every policy, without an import:',
    table(['Function', 'Arguments'], builtins),
    '## Standard imports',
    'Use `import "strings"` and then `strings.has_prefix(…)`. `import "collection/lists" as lists` ' +
      'names it otherwise.',
    ...parts,
    '## Imports of plan policies',
    table(
      ['Import', 'Contents'],
      [
        [
          code('plan/v2'),
          'the planned changes: `resource_changes`, `variables`, `outputs` and more',
        ],
        [code('state/v2'), 'the resources before the plan'],
        [code('config/v2'), 'the configuration: providers, resources, modules'],
        [code('run'), 'the run: workspace, project, organization, message, cost'],
      ],
    ),
    '## Globals of job policies',
    table(
      ['Name', 'Contents'],
      [
        [
          code('job'),
          'the submitted job, with field names in lower case: `TaskGroups` is `task_groups`',
        ],
        [code('existing_job'), 'the registered job; null when the job is new'],
        [code('job_exists'), 'whether the job is registered'],
        [code('namespace'), 'the namespace of the job'],
        [code('service_acl_token'), 'the token of the request, without its secret'],
      ],
    ),
  ])
}

function memberRow(name: string, value: Value): readonly string[] {
  const isCallable = typeof value === 'object' && value !== null && 'isFunction' in value
  return [
    code(name),
    isCallable ? 'function' : typeOf(value),
    isCallable ? countText(value.arity) : '',
  ]
}

function countText([least, most]: readonly [number, number]): string {
  if (least === most) return String(least)
  return Number.isFinite(most) ? `${least} to ${most}` : `${least} or more`
}

function opaPage(): string {
  const builtins = [...OPA_BUILTINS.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const groups = Map.groupBy(builtins, ({ name }) =>
    name.includes('.') ? (name.split('.')[0] ?? '') : 'without a prefix',
  )
  const parts = [...groups].flatMap(([group, members]) => [
    `## ${group}`,
    table(['Function', 'Operands', 'Result', ''], members.map(opaRow)),
  ])
  return page('OPA built-in functions', [
    'Every built-in function of policies in Rego, with the types of its operands and result. They ' +
      'behave as in Open Policy Agent, with these differences: `http.send` and name lookups have no ' +
      'network.',
    ...parts,
  ])
}

function opaRow({ name, operands, result, isDeprecated, isRelation }: Builtin): readonly string[] {
  const text = (type: Builtin['result']) => (typeof type === 'string' ? type : type.join(' or '))
  return [
    code(name),
    operands.map(text).join(', '),
    text(result),
    [...(isDeprecated ? ['version 0 only'] : []), ...(isRelation ? ['relation'] : [])].join(', '),
  ]
}
