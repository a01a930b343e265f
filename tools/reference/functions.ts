import { FUNCTION_EXAMPLES } from '../../packages/reeve/src/jobspec/documentation/functions.ts'
import { jobFunctions } from '../../packages/reeve/src/jobspec/functions/functions.ts'
import { parseJobFile, type FileFunctions } from '../../packages/reeve/src/jobspec/index.ts'
import { err } from '@reeve/kit/result.ts'
import { code, page, sentence, table } from './page.ts'

export const FUNCTIONS_PAGE = 'docs/reference/job-file/functions.md'

const random = { next: () => 0 }
/** No files: the examples are about texts alone. */
const files: FileFunctions = {
  read: () => err('no files here'),
  exists: () => err('no files here'),
  list: () => err('no files here'),
  absolute: (path) => path,
  home: () => undefined,
}
const FUNCTIONS = jobFunctions({ files, random, nowMs: 0 })

/** Every function of job files; the results of the examples are computed. */
export function functionsPage(): string {
  const names = [...FUNCTIONS.keys()].toSorted()
  const [missing] = names.filter((name) => !Object.hasOwn(FUNCTION_EXAMPLES, name))
  if (missing !== undefined) throw new Error(`function ${missing} has no example`)
  const [stray] = Object.keys(FUNCTION_EXAMPLES).filter((name) => !FUNCTIONS.has(name))
  if (stray !== undefined) throw new Error(`example of ${stray}, which is no function`)
  return page('Functions', [
    'Functions are evaluated when a job file is parsed. The command line evaluates those that read ' +
      'files (`file`, `fileset` and others) relative to the job file; the server rejects them, ' +
      'because it does not have your files.',
    table(['Function', 'Result', 'Example'], names.map(rowOf)),
  ])
}

function rowOf(name: string): readonly string[] {
  const [help, example] = FUNCTION_EXAMPLES[name] ?? ['', '']
  const shown = example === '' ? '' : `${code(example)} = ${code(evaluated(example))}`
  return [code(`${name}(${parametersOf(name)})`), sentence(help), shown]
}

function parametersOf(name: string): string {
  const definition = FUNCTIONS.get(name)
  if (definition?.kind !== 'eager') return '…'
  const { parameters, rest } = definition
  return [
    ...parameters.map((one) => one.name),
    ...(rest === undefined ? [] : [`${rest.name}…`]),
  ].join(', ')
}

function evaluated(example: string): string {
  const text = `job "example" {\n  meta {\n    result = jsonencode(${example})\n  }\n}\n`
  const read = parseJobFile({
    file: 'example.hcl',
    text,
    strict: true,
    files,
    random,
    nowMs: 0,
  })
  const result = read.ok ? read.value.job.Meta?.['result'] : undefined
  if (typeof result !== 'string') throw new Error(`${example}: ${JSON.stringify(read)}`)
  return result
}
