import { err } from '@reeve/kit/result.ts'
import {
  createScope,
  type RootDescription,
  type FunctionDefinition,
  type LazyFunction,
  type Scope,
} from '@reeve/hcl'
import { JOB_FILE_STEPS_MAX } from './limits.ts'

/**
 * The scope of a job file: `var` and `local` are added once evaluated. Every other root is
 * interpolated on the node that runs the task, and stays text.
 */
export function createJobScope(functions: ReadonlyMap<string, FunctionDefinition>): Scope {
  return createScope({
    functions: Object.fromEntries(functions),
    isDeferred: (root) => root !== 'var' && root !== 'local',
    describeRoot: (root) => (Object.hasOwn(ROOT_KINDS, root) ? ROOT_KINDS[root] : undefined),
    limits: { stepsMax: JOB_FILE_STEPS_MAX },
  })
}

const ROOT_KINDS: Readonly<Record<string, RootDescription>> = {
  var: {
    noun: 'variable',
    howToDeclare: (name) => `Declare it with a block variable "${name}" {}.`,
  },
  local: {
    noun: 'local value',
    howToDeclare: (name) => `Declare it in a locals block: ${name} = …`,
  },
}

/** For values without references: defaults, variable files, flags. Uses the same budget. */
export function literalScope(scope: Scope): Scope {
  return {
    ...scope,
    variable: () => undefined,
    variableNames: () => [],
    function: () => REJECTING_FUNCTION,
    isDeferred: () => false,
  }
}

/** For validation rules of a variable: only that variable and functions are visible. */
export function closedScope(scope: Scope): Scope {
  return { ...literalScope(scope), function: (name) => scope.function(name) }
}

const REJECTING_FUNCTION: LazyFunction = {
  kind: 'lazy',
  parameterCountMin: 0,
  parameterCountMax: Infinity,
  call: () => err({ message: 'only a literal value may be written here' }),
}
