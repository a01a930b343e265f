export type { CronExpression } from './expression.ts'
export { nextCronTime, type OffsetAt } from './next.ts'
export { parseCron } from './parse.ts'
