export { MockDriver } from './mock/mock-driver.ts'
export { RawExecDriver } from './raw-exec/raw-exec-driver.ts'
