import { define, type Builtin } from './builtin.ts'

export const TEST_CASE = 'internal.test_case'

export const TRACING_BUILTINS: readonly Builtin[] = [
  define({ name: 'trace', operands: ['string'], result: 'boolean' }, (context, text) => {
    context.note(text)
    return true
  }),
  // Put into the rules of tests by the compiler; see `withCases`.
  define({ name: TEST_CASE, operands: ['array'], result: 'boolean' }, (context, path) => {
    context.testCase(path)
    return true
  }),
]
