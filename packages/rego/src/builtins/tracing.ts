import { define, type Builtin } from './builtin.ts'

export const TRACING_BUILTINS: readonly Builtin[] = [
  define({ name: 'trace', operands: ['string'], result: 'boolean' }, (context, text) => {
    context.note(text)
    return true
  }),
]
