export { formatArgument, typeName } from './format-verb.ts'
export type { Argument, Flags } from './format-verb.ts'
export { quote, quoteAscii } from './quote.ts'
