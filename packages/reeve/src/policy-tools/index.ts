export { checkPolicies } from './check-command.ts'
export { evaluatePolicies, formatPolicies, testPolicies } from './commands.ts'
