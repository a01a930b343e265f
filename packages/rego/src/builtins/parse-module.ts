import { parseModule } from '../syntax/parse.ts'
import { Source } from '../syntax/problem.ts'
import { define, type Builtin } from './builtin.ts'
import { moduleValue } from './module-value.ts'
import { chargeForString } from './operand.ts'

export const PARSE_MODULE_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'rego.parse_module', operands: ['string', 'string'], result: 'object' },
    (context, file, text) => {
      // A token becomes a tree of some dozens of values.
      chargeForString(context, text.length * 16)
      const source = new Source(file, text)
      const module = parseModule(source, 1)
      // Most policies in use are still written in the version before.
      const older = module.ok ? module : parseModule(source, 0)
      if (older.ok) return moduleValue(older.value)
      const { code, message, location } = module.ok ? older.error : module.error
      return context.fail(`${file}:${location.row}: ${code}: ${message}`)
    },
  ),
]
