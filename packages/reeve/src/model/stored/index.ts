export { storedRowProblem } from './stored-row-problem.ts'
