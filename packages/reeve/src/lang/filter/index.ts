export { compileFilter, type Filter, type FilterOptions } from './compile.ts'
export { equalityHint } from './equality-hint.ts'
export { fieldKindsFromSchema, type FieldKinds } from './field-kinds.ts'
export type { FilterError } from './filter-error.ts'
