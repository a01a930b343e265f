export { checkPolicies } from './check-command.ts'
export { evaluatePolicies } from './evaluate-command.ts'
export { formatPolicies } from './format-command.ts'
export { testPolicies } from './test-command.ts'
