import {
  compilePolicies,
  fromPlain,
  ObjectValue,
  objectOf,
  toJsonText,
  type EvaluateOptions,
  type PlainValue,
} from '../src/index.ts'

export interface Asked {
  readonly version?: 0 | 1
  readonly input?: PlainValue
  readonly data?: PlainValue
  readonly options?: EvaluateOptions
}

/** The JSON text of a document of one module of package `t`, or the code of what is wrong. */
export function evaluateText(rules: string, document: string, asked: Asked = {}): string {
  const compiled = compilePolicies({
    modules: [{ file: 't.rego', text: `package t\n${rules}\n` }],
    version: asked.version ?? 1,
  })
  if (!compiled.ok) return compiled.error[0]?.code ?? 'no problem'
  const query = compiled.value.document(document)
  if (!query.ok) return query.error.code
  const data = fromPlain(asked.data ?? {})
  const result = query.value.evaluate({
    input: asked.input === undefined ? undefined : fromPlain(asked.input),
    data: data instanceof ObjectValue ? data : objectOf([]),
    ...asked.options,
  })
  if (!result.ok) return result.error.code
  return result.value === undefined ? 'undefined' : toJsonText(result.value)
}
