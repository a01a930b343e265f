import type { Repository } from '../source/repository.ts'
import type { Source } from '../source/tree.ts'
import { toFindings, pathWords, type Violation } from './file.ts'
import type { Finding } from '../source/finding.ts'

/** Names of files and folders that say nothing, whatever is inside. */
const EMPTY_NAMES = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'misc'])

export function* checkName({ path }: Source): Iterable<Violation> {
  const word = pathWords(path).find((one) => EMPTY_NAMES.has(one))
  if (word !== undefined)
    yield { line: 1, message: `"${word}" says nothing: name the file after the idea it holds` }
}

const UNFINISHED = /\b(?:TODO|FIXME|XXX|HACK)\b(?!\s*\(?#\d+)/

export function* checkTodo({ comments }: Source): Iterable<Violation> {
  for (const { value, loc } of comments)
    for (const [index, text] of value.split('\n').entries())
      if (UNFINISHED.test(text))
        yield {
          line: loc.start.line + index,
          message: 'unfinished work needs an issue number: #12',
        }
}

/**
 * Names of other vendors' products: none may appear but where they are the subject, the specs have
 * names of their own. Spelled in halves, so that this file keeps its own rule.
 */
const VENDORS: readonly (readonly [head: string, tail: string, instead: string])[] = [
  ['hashi', 'corp', 'leave it out'],
  ['no', 'mad', 'say "workload API", or the spec\'s noun'],
  ['terra', 'form', 'say "governance API", or the spec\'s noun'],
  ['senti', 'nel', 'say "native policy language", or "marker" for a special value'],
  ['con', 'sul(?!t)', 'say "service discovery"'],
  ['va', 'ult', 'say "secrets provider"'],
  ['way', 'point', 'leave it out'],
]

/** The tables of these names, their tests, and pages about compatibility and migration. */
const ABOUT_VENDORS =
  /^packages\/reeve\/(?:src\/compat|test\/clients|test\/compat)\/|compatibility|other-products|\/migrate-|^docs\/reference\/api\//

/** Written by tools. */
const GENERATED: ReadonlySet<string> = new Set(['package-lock.json', 'openapi.json'])

const TEXT = /(?:\.(?:tsx?|[cm]?js|json|md|ya?ml|html|css|sh|c|h|hcl|rego)|^bin\/[^.]+)$/

export function checkVendorNames(repository: Repository): Finding[] {
  const texts = repository.files.filter(
    (path) => TEXT.test(path) && !GENERATED.has(path) && !ABOUT_VENDORS.test(path),
  )
  return texts.flatMap((path) => {
    const lines = repository.read(path).split('\n')
    return toFindings(path, 'vendor', [...vendorsIn([path], 0), ...vendorsIn(lines, 1)])
  })
}

/** `headerLine` 0 stands for the path itself, reported at line 1. */
function* vendorsIn(lines: readonly string[], firstLine: number): Iterable<Violation> {
  for (const [index, text] of lines.entries())
    for (const [head, tail, instead] of VENDORS) {
      const found = new RegExp(head + tail, 'i').exec(text)
      if (found === null) continue
      yield { line: Math.max(1, firstLine + index), message: `"${found[0]}": ${instead}` }
    }
}
