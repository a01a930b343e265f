export * from './route.ts'
export * from './shape.ts'
export * from './v1/index.ts'
export * as v2 from './v2/index.ts'
