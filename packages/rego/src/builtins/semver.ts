import { quote } from '@reeve/go-template/fmt'
import { compareVersions, parseVersion } from '@reeve/kit/version.ts'
import { define, type Builtin } from './builtin.ts'
import { chargeForString } from './operands.ts'

export const SEMVER_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'semver.compare', operands: ['string', 'string'], result: 'number' },
    (context, a, b) => {
      chargeForString(context, a.length + b.length)
      const left = parseVersion(a, 'semver')
      if (left === undefined)
        return context.fail(`operand 1: string ${quote(a)} is not a valid SemVer`)
      const right = parseVersion(b, 'semver')
      if (right === undefined)
        return context.fail(`operand 2: string ${quote(b)} is not a valid SemVer`)
      return compareVersions(left, right)
    },
  ),
  define({ name: 'semver.is_valid', operands: ['any'], result: 'boolean' }, (context, value) => {
    if (typeof value !== 'string') return false
    chargeForString(context, value.length)
    return parseVersion(value, 'semver') !== undefined
  }),
]
