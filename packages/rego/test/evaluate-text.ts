import {
  compileRego,
  fromJson,
  ObjectValue,
  objectOf,
  toJsonString,
  type EvaluateOptions,
  type JsonValue,
} from '../src/index.ts'

export interface Asked {
  readonly version?: 0 | 1
  readonly input?: JsonValue
  readonly data?: JsonValue
  readonly options?: EvaluateOptions
}

/** The JSON text of a document of one module of package `t`, or the code of what is wrong. */
export function evaluateText(rules: string, document: string, asked: Asked = {}): string {
  const compiled = compileRego({
    modules: [{ file: 't.rego', text: `package t\n${rules}\n` }],
    version: asked.version ?? 1,
  })
  if (!compiled.ok) return compiled.error[0]?.code ?? 'no problem'
  const query = compiled.value.prepareDocument(document)
  if (!query.ok) return query.error.code
  const data = fromJson(asked.data ?? {})
  const result = query.value.evaluate({
    input: asked.input === undefined ? undefined : fromJson(asked.input),
    data: data instanceof ObjectValue ? data : objectOf([]),
    ...asked.options,
  })
  if (!result.ok) return result.error.code
  return result.value === undefined ? 'undefined' : toJsonString(result.value)
}
