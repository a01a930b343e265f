export {
  compileFilter,
  equalityConstraints,
  type Filter,
  type FilterOptions,
  leadingConjuncts,
} from './compile.ts'
export { fieldTypeFromSchema } from './field-type.ts'
