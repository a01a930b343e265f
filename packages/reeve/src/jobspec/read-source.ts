import type { Result } from '../kit/result.ts'
import { parse, parseJson, type Body, type Diagnostic } from '../lang/hcl/index.ts'

/** A text and the name that messages call it by. */
export interface NamedText {
  readonly file: string
  readonly text: string
}

const JSON_START = /^\uFEFF?\s*\{/

/** Jobspec reference §1: a text that begins with a brace is the JSON form of the language. */
export function isJsonSyntax(text: string): boolean {
  return JSON_START.test(text)
}

export function readSource({ file, text }: NamedText): Result<Body, readonly Diagnostic[]> {
  return isJsonSyntax(text) ? parseJson(text, file) : parse(text, file)
}
