import { err, ok, type Result } from '../../kit/result.ts'
import { compose } from './compose.ts'
import { YAML_LENGTH_MAX } from './limits.ts'
import type { Reader, YamlProblem } from './reader.ts'
import { scan } from './scan.ts'
import type { YamlValue } from './value.ts'

/** What no text may contain, in quotes or not: YAML specification, section 5.1. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/

/** The value of one document, or what is wrong with it and where: `line 3, column 5: …`. */
export function parseYaml(source: string): Result<YamlValue, string> {
  if (source.length > YAML_LENGTH_MAX)
    return err(`the text is longer than ${YAML_LENGTH_MAX} characters`)
  const text = source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
  const strange = UNPRINTABLE.exec(text)
  if (strange !== null)
    return err(
      describe(text, { at: strange.index, message: 'a control character must be escaped' }),
    )
  const scanner = scan(text)
  if (scanner.problem !== undefined) return err(describe(text, scanner.problem))
  const reader: Pick<Reader, 'problem'> = scanner
  const value = compose(scanner)
  return value === undefined
    ? err(describe(text, reader.problem ?? { at: 0, message: 'the text is not valid' }))
    : ok(value)
}

function describe(text: string, { at, message }: YamlProblem): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return `line ${line}, column ${column}: ${message}`
}
