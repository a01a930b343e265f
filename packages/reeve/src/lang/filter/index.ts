export { compileFilter, type Filter, type FilterOptions } from './compile.ts'
export { equalityConstraints, leadingConjuncts } from './conjuncts.ts'
export { fieldTypeFromSchema, type FieldType } from './field-type.ts'
export type { FilterError } from './ast.ts'
